// Kubernetes' own end-to-end tests for scheduling, as one program with the flags of their framework.
// Each spec is told to the file named by --results when it starts and when it ends, as a line of JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"k8s.io/component-base/logs"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"

	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/scheduling"
	_ "k8s.io/kubernetes/test/utils/format"
)

var resultsPath = flag.String("results", "", "The file that specs are told to, a line of JSON each.")

// What is told of a spec. Failure is empty when it passed, and the reason when it was skipped.
type result struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Failure string  `json:"failure"`
}

// What the suite asks of `testing`.
type outcome struct{ failed bool }

func (o *outcome) Fail() { o.failed = true }

// Those that were not asked for are skipped without a reason; nothing is told of them.
func tell(results *json.Encoder, report ginkgo.SpecReport, state string) {
	unselected := report.State.Is(types.SpecStateSkipped) && report.Failure.IsZero()
	if report.LeafNodeType != types.NodeTypeIt || unselected {
		return
	}
	err := results.Encode(result{report.FullText(), state, report.RunTime.Seconds(), report.Failure.Message})
	if err != nil {
		framework.Failf("cannot write results: %v", err)
	}
}

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	file, err := os.Create(*resultsPath)
	if err != nil {
		fmt.Fprintf(os.Stderr, "--results: %v\n", err)
		os.Exit(2)
	}
	results := json.NewEncoder(file) // from here on: what was read above went through every spec without running it
	ginkgo.ReportBeforeEach(func(report ginkgo.SpecReport) { tell(results, report, "started") })
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) { tell(results, report, report.State.String()) })
	logs.InitLogs()
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	var ended outcome
	if !ginkgo.RunSpecs(&ended, "Kubernetes scheduling", suite, reporter) || ended.failed {
		os.Exit(1)
	}
}
