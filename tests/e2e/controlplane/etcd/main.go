// Command etcd is etcd's server, as published: its module offers the whole command as a function.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
