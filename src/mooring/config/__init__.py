"""KubeSchedulerConfiguration in, checked Structs out; every mistake as `file:line:column: what.`"""
