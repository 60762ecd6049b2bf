// helm, to render and install the chart the way people do.
module mooring/e2e/helm

go 1.26.0

tool helm.sh/helm/v3/cmd/helm

require helm.sh/helm/v3 v3.21.4
