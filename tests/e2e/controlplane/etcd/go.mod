// etcd's server as one command; the version is the one this Kubernetes is tested with.
module mooring/e2e/etcd

go 1.26.0

require go.etcd.io/etcd/server/v3 v3.6.8
