// The peer: kube-scheduler's own code on the nodes and pods of one file, without an API server.
//
//	peer measure -file FILE [-percent 0] [-pods N] [-warm-up N]   what it takes, as one JSON object
//	peer ties -file FILE [-pods N] [-scores]                      the best nodes of every pod, as JSON lines
//
// The file holds one Kubernetes object a line: nodes, pods, and whatever else the pods' placement depends on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) == 0 || (words[0] != "measure" && words[0] != "ties") {
		return fmt.Errorf("say what to do: measure or ties")
	}
	flags := flag.NewFlagSet(words[0], flag.ExitOnError)
	file := flags.String("file", "", "objects, one a line")
	percent := flags.Int("percent", 0, "percentageOfNodesToScore; 0 is its adaptive sampling")
	pods := flags.Int("pods", 0, "so many pods of the file, not all")
	warmUp := flags.Int("warm-up", 0, "pods that are placed before anything is measured")
	scores := flags.Bool("scores", false, "tell every plugin's score of every node")
	if err := flags.Parse(words[1:]); err != nil {
		return err
	}
	things, err := read(*file)
	if err != nil {
		return err
	}
	if *pods > 0 && *pods < len(things.pods) {
		things.pods = things.pods[:*pods]
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	tell := json.NewEncoder(out)
	if words[0] == "ties" {
		peer, err := newPeer(ctx, things, 100)
		if err != nil {
			return err
		}
		return peer.tellTies(ctx, things.pods, *scores, tell)
	}
	peer, err := newPeer(ctx, things, int32(*percent))
	if err != nil {
		return err
	}
	measured, err := peer.measure(ctx, things.pods, *warmUp)
	if err != nil {
		return err
	}
	return tell.Encode(measured)
}
