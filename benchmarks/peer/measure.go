package main

import (
	"context"
	"runtime"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
)

// measured is what placing the pods took; processor time is that of all cores, garbage collection included.
type measured struct {
	Pods  int     `json:"pods"`
	Bound int     `json:"bound"`
	WallS float64 `json:"wall_s"`
	CPUS  float64 `json:"cpu_s"`
}

func (p *peer) measure(ctx context.Context, pods []*v1.Pod, warmUp int) (*measured, error) {
	warmUp = min(warmUp, len(pods))
	if _, err := p.placeAll(ctx, pods[:warmUp]); err != nil {
		return nil, err
	}
	runtime.GC()
	wall, cpu := time.Now(), cpuSeconds()
	bound, err := p.placeAll(ctx, pods[warmUp:])
	if err != nil {
		return nil, err
	}
	return &measured{len(pods) - warmUp, bound, time.Since(wall).Seconds(), cpuSeconds() - cpu}, nil
}

func (p *peer) placeAll(ctx context.Context, pods []*v1.Pod) (int, error) {
	bound := 0
	for _, pod := range pods {
		placed, err := p.place(ctx, pod)
		if err != nil {
			return bound, err
		}
		if placed {
			bound++
		}
	}
	return bound, nil
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
