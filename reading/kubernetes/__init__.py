"""Manifests of Kubernetes and of its operators -> the commands that their pods launch."""
