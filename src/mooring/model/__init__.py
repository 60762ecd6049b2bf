"""Kubernetes objects off the wire, and what scheduling reads out of them."""

from mooring.model.objects import Node, Object, Pod, PodSpec
from mooring.model.requests import Allocatable, Request

__all__ = ["Allocatable", "Node", "Object", "Pod", "PodSpec", "Request"]
