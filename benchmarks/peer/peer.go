package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const metricsSamplePercent = 10 // of cycles, as scheduleOnePod has it

// peer is one scheduler with its default profile, whose cache is filled by hand.
type peer struct {
	scheduler *scheduler.Scheduler
	framework framework.Framework
	snapshot  *internalcache.Snapshot
	cycles    *cycles
}

// cycles counts scheduling cycles in place of the queue, which no pod goes through here: batching asks for it.
type cycles struct {
	internalqueue.SchedulingQueue
	count int64
}

func (c *cycles) SchedulingCycle() int64 { return c.count }

func newPeer(ctx context.Context, given *things, percent int32) (*peer, error) {
	client := fake.NewClientset(given.other...)
	informers := scheduler.NewInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	made, err := scheduler.New(ctx, client, informers, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithPercentageOfNodesToScore(&percent))
	if err != nil {
		return nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	chosen, found := made.Profiles[v1.DefaultSchedulerName]
	if !found {
		return nil, fmt.Errorf("there is no profile named %s", v1.DefaultSchedulerName)
	}
	snapshot, is := chosen.SnapshotSharedLister().(*internalcache.Snapshot)
	if !is {
		return nil, errors.New("the framework's snapshot is not the cache's")
	}
	counted := &cycles{SchedulingQueue: made.SchedulingQueue}
	made.SchedulingQueue = counted
	logger := klog.FromContext(ctx)
	for _, node := range given.nodes {
		made.Cache.AddNode(logger, node)
	}
	for _, pod := range given.there {
		if err := made.Cache.AddPod(logger, pod); err != nil {
			return nil, err
		}
	}
	return &peer{made, chosen, snapshot, counted}, nil
}

// place does for one pod what the scheduling cycle does, but for reserving and waiting.
// False says that the pod fits nowhere.
func (p *peer) place(ctx context.Context, pod *v1.Pod) (bool, error) {
	p.cycles.count++
	queued, err := queuedPod(pod)
	if err != nil {
		return false, err
	}
	queued.PodSignature = p.framework.SignPod(ctx, pod)
	if err := p.scheduler.Cache.UpdateSnapshot(klog.FromContext(ctx), p.snapshot); err != nil {
		return false, err
	}
	result, err := p.scheduler.SchedulePod(ctx, p.framework, newState(), queued)
	if err != nil {
		var unfit *framework.FitError
		if errors.As(err, &unfit) {
			return false, nil
		}
		return false, err
	}
	return true, p.assume(ctx, queued, result.SuggestedHost)
}

func (p *peer) assume(ctx context.Context, queued *framework.QueuedPodInfo, node string) error {
	assumed := queued.DeepCopy().Pod
	assumed.Spec.NodeName = node
	return p.scheduler.Cache.AssumePod(klog.FromContext(ctx), assumed)
}

func newState() *framework.CycleState {
	state := framework.NewCycleState()
	state.SetRecordPluginMetrics(rand.Intn(100) < metricsSamplePercent)
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	return state
}

func queuedPod(pod *v1.Pod) (*framework.QueuedPodInfo, error) {
	known, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	return &framework.QueuedPodInfo{PodInfo: known, Timestamp: time.Now()}, nil
}
