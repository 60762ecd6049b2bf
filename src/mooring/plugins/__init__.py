"""kube-scheduler's plugins, one module or folder each, with its names, reasons and arithmetic."""
