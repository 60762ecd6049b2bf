package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// choice is what can be said about placing one pod: the nodes that are best, and the one of them it is put on,
// the first by name. No node at all says that it fits nowhere.
type choice struct {
	Pod      string                      `json:"pod"`
	Node     string                      `json:"node"`
	Best     []string                    `json:"best"`
	Total    int64                       `json:"total"`
	Feasible int                         `json:"feasible"`         // nodes
	Sum      int64                       `json:"sum"`              // of the totals of all of them
	Scores   map[string]map[string]int64 `json:"scores,omitempty"` // of all of them, by plugin
}

func (p *peer) tellTies(ctx context.Context, pods []*v1.Pod, scores bool, tell *json.Encoder) error {
	for _, pod := range pods {
		said, err := p.choose(ctx, pod, scores)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if err := tell.Encode(said); err != nil {
			return err
		}
	}
	return nil
}

// choose tells the best nodes, sees that the scheduler itself takes one of them, and puts the pod on the first.
func (p *peer) choose(ctx context.Context, pod *v1.Pod, scores bool) (*choice, error) {
	p.cycles.count++
	if err := p.scheduler.Cache.UpdateSnapshot(klog.FromContext(ctx), p.snapshot); err != nil {
		return nil, err
	}
	rated, err := p.rate(ctx, pod)
	if err != nil {
		return nil, err
	}
	said := &choice{Pod: pod.Namespace + "/" + pod.Name, Best: []string{}, Feasible: len(rated)}
	for _, one := range rated {
		said.Sum += one.TotalScore
		if len(said.Best) == 0 || one.TotalScore > said.Total {
			said.Best, said.Total = said.Best[:0], one.TotalScore
		}
		if one.TotalScore == said.Total {
			said.Best = append(said.Best, one.Name)
		}
	}
	slices.Sort(said.Best)
	if scores {
		said.Scores = byPlugin(rated)
	}
	queued, err := queuedPod(pod)
	if err != nil {
		return nil, err
	}
	taken, err := p.scheduler.SchedulePod(ctx, p.framework, newState(), queued)
	if err := agree(said.Best, taken.SuggestedHost, err); err != nil {
		return nil, err
	}
	if len(said.Best) == 0 {
		return said, nil
	}
	said.Node = said.Best[0]
	return said, p.assume(ctx, queued, said.Node)
}

// agree says whether what the scheduler did is what the best nodes let it do.
func agree(best []string, taken string, failed error) error {
	var unfit *framework.FitError
	if failed != nil && !errors.As(failed, &unfit) {
		return failed
	}
	if (failed != nil) != (len(best) == 0) || (failed == nil && !slices.Contains(best, taken)) {
		return fmt.Errorf("the scheduler takes %q, which is none of the best %v", taken, best)
	}
	return nil
}

// rate filters and scores all nodes, as the scheduler does when it does not sample.
func (p *peer) rate(ctx context.Context, pod *v1.Pod) ([]fwk.NodePluginScores, error) {
	state := newState()
	only, status, _ := p.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if status.IsRejected() {
			return nil, nil
		}
		return nil, status.AsError()
	}
	all, err := p.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	feasible, err := p.feasible(ctx, state, pod, all, only)
	if err != nil || len(feasible) == 0 {
		return nil, err
	}
	if status := p.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	rated, status := p.framework.RunScorePlugins(ctx, state, pod, feasible)
	return rated, status.AsError()
}

func (p *peer) feasible(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, all []fwk.NodeInfo, only *fwk.PreFilterResult,
) ([]fwk.NodeInfo, error) {
	feasible := make([]fwk.NodeInfo, 0, len(all))
	for _, node := range all {
		if !only.AllNodes() && !only.NodeNames.Has(node.Node().Name) {
			continue
		}
		status := p.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, node)
		case !status.IsRejected():
			return nil, status.AsError()
		}
	}
	return feasible, nil
}

func byPlugin(rated []fwk.NodePluginScores) map[string]map[string]int64 {
	told := make(map[string]map[string]int64, len(rated))
	for _, node := range rated {
		scores := make(map[string]int64, len(node.Scores))
		for _, one := range node.Scores {
			scores[one.Name] = one.Score
		}
		told[node.Name] = scores
	}
	return told
}
