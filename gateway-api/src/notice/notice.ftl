<#-- The NOTICE file of the repository; NoticeTest compares the committed file with its output. -->
Sluice
Copyright 2026 The Sluice maintainers

Licensed under the Apache License, Version 2.0; see LICENSE.

The runnable jar contains the libraries below, each under the licences that its own metadata name.
This list is generated; write it anew with `make notice`.

<#list dependencyMap as e>
<#assign p = e.getKey()/>
<#if p.groupId != "dev.sluice">
${p.groupId}:${p.artifactId}:${p.version} (<#list e.getValue() as licence>${licence}<#sep>; </#list>)
</#if>
</#list>
