// kwok plays the kubelets: it answers for nodes and pods that nobody runs.
module mooring/e2e/kwok

go 1.26.0

tool sigs.k8s.io/kwok/cmd/kwok

require sigs.k8s.io/kwok v0.8.0
