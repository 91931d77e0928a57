"""A stand-in for the API server of Kubernetes, with what kubectl asks of it for Jobs, and for the machinery behind it.

It keeps Jobs and their pods in memory and gives them the states that batch/v1 and v1 document. The command of a pod's
container runs as a process of this machine, so that a session of perfbench really takes place.
"""
import json
import os
import signal
import subprocess
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SUSPENDED_S = 5  # longer than perfbench waits between two looks
JOBS = "/apis/batch/v1/namespaces/"
PODS = "/api/v1/namespaces/"


def resources(group_version, name, kind):
    return {"kind": "APIResourceList", "groupVersion": group_version, "resources": [
        {"name": name, "singularName": name[:-1], "kind": kind, "namespaced": True,
         "verbs": ["create", "delete", "get", "list"]}]}


BATCH = {"groupVersion": "batch/v1", "version": "v1"}
DISCOVERY = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": [{"name": "batch", "versions": [BATCH], "preferredVersion": BATCH}]},
    "/api/v1": resources("v1", "pods", "Pod"),
    "/apis/batch/v1": resources("batch/v1", "jobs", "Job"),
}
# kubectl looks here whether the server checks fields itself.
JOB_KIND = {"group": "batch", "version": "v1", "kind": "Job"}
OPENAPI = {"paths": {"apis/batch/v1": {"serverRelativeURL": "/openapi/v3/apis/batch/v1"}}}
OPENAPI_BATCH = {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "1.32"}, "paths": {
    "/apis/batch/v1/namespaces/{namespace}/jobs/{name}": {"patch": {
        "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
        "x-kubernetes-group-version-kind": JOB_KIND, "responses": {"200": {"description": "OK"}}}}}}


def status(code, reason, message):
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
                  "message": message}


def condition(kind, reason):
    return {"type": kind, "status": "True", "reason": reason}


class Pod:
    """The pod of a Job, with its process."""

    def __init__(self, job, node):
        self.name = job["metadata"]["name"]
        spec = job["spec"]["template"]["spec"]
        self.container = spec["containers"][0]
        self.resource = {"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": {"phase": "Pending"},
                         "metadata": {"name": self.name + "-0", "labels": job["spec"]["template"]["metadata"]["labels"],
                                      "creationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}
        self.node = node
        self.process = None
        self.grace_s = spec.get("terminationGracePeriodSeconds", 30)

    def status(self):
        return self.resource["status"]

    def set_container(self, **state):
        self.status()["containerStatuses"] = [{"name": self.container["name"], "state": state}]

    def wait(self, reason=""):
        """Pending for a reason of the kubelet."""
        self.set_container(waiting={"reason": reason})

    def start(self, path):
        self.resource["spec"]["nodeName"] = self.node
        command = [word.replace("$$", "$") for word in self.container["command"]]
        variables = {one["name"]: self.node for one in self.container.get("env", [])
                     if one["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"}
        self.process = subprocess.Popen(command, cwd="/", env={**os.environ, **variables, "PATH": path}, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.status()["phase"] = "Running"
        self.set_container(running={})

    def end(self, by=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, by)

    def await_end(self):
        code = self.process.wait()
        code = 128 - code if code < 0 else code
        self.status()["phase"] = "Failed" if code else "Succeeded"
        self.set_container(terminated={"exitCode": code, "reason": "Error" if code else "Completed"})
        return code


class Cluster:
    """The API server with its controllers. `path` is PATH of the containers."""

    def __init__(self, port, path, namespace):
        self.port = port
        self.path = path
        self.namespace = namespace  # the only one
        self.lock = threading.Lock()
        self.jobs = {}
        self.pods = {}
        self.created = []  # the Jobs as they came
        self.pull_error = ""  # of the next pods
        self.server = None

    def start(self):
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                url = urllib.parse.urlsplit(self.path)
                code, content = cluster.answer(self.command, url.path, urllib.parse.parse_qs(url.query), body)
                data = json.dumps(content).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = answer

        ThreadingHTTPServer.allow_reuse_address = True
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        """The API server does not answer any more; pods run on."""
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method, path, query, body):
        if path in DISCOVERY:
            return 200, DISCOVERY[path]
        if path == "/openapi/v3":
            return 200, OPENAPI
        if path == "/openapi/v3/apis/batch/v1":
            return 200, OPENAPI_BATCH
        if path.startswith((JOBS, PODS)):
            space, *rest = path.split("/namespaces/")[1].split("/")
            if not rest:
                return 200, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            kind, *name = rest
            if space != self.namespace:
                return status(404, "NotFound", f"there are no {kind} in {space}")
            with self.lock:
                if method == "POST" and kind == "jobs":
                    return self.create(body)
                if method == "DELETE" and kind == "jobs":
                    return self.delete(name[0])
                if method == "GET" and name:
                    return self.get(name[0])
                if method == "GET":
                    return self.list(kind, query.get("labelSelector", [""])[0])
        return status(404, "NotFound", f"the server could not find {path}")

    def create(self, job):
        name = job["metadata"]["name"]
        if name in self.jobs:
            return status(409, "AlreadyExists", f'jobs.batch "{name}" already exists')
        self.created.append(json.loads(json.dumps(job)))
        job["status"] = {}
        self.jobs[name] = job
        self.pods[name] = Pod(job, "n1")
        threading.Thread(target=self.run, args=(name, self.pods[name]), daemon=True).start()
        return 201, job

    def get(self, name):
        return (200, self.jobs[name]) if name in self.jobs else status(
            404, "NotFound", f'jobs.batch "{name}" not found')

    def list(self, kind, selector):
        key, _, value = selector.partition("=")
        every = list(self.jobs.values()) if kind == "jobs" else [pod.resource for pod in self.pods.values()]
        group = "batch/v1" if kind == "jobs" else "v1"
        return 200, {"apiVersion": group, "kind": "JobList" if kind == "jobs" else "PodList", "metadata": {}, "items": [
            one for one in every if not selector or one["metadata"].get("labels", {}).get(key) == value]}

    def delete(self, name):
        if name not in self.jobs:
            return status(404, "NotFound", f'jobs.batch "{name}" not found')
        self.jobs[name]["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
        threading.Thread(target=self.remove, args=(name, self.pods[name]), daemon=True).start()
        return 200, self.jobs[name]

    def remove(self, name, pod):
        pod.end()
        if pod.process:
            try:
                pod.process.wait(pod.grace_s)
            except subprocess.TimeoutExpired:
                pod.end(signal.SIGKILL)
        with self.lock:
            self.jobs.pop(name, None)
            self.pods.pop(name, None)

    def run(self, name, pod):
        with self.lock:
            if self.pull_error:
                pod.wait(self.pull_error)
                return
            pod.start(self.path)
        pod.await_end()
        with self.lock:
            job = self.jobs.get(name)
            if job is None or self.pods.get(name) is not pod:
                return
            if pod.status()["phase"] == "Succeeded":
                job["status"]["conditions"] = [condition("Complete", "CompletionsReached")]
            else:
                job["status"]["conditions"] = [condition("Failed", "BackoffLimitExceeded")]

    def only_pod(self):
        with self.lock:
            running = [pod for pod in self.pods.values() if pod.status()["phase"] == "Running"]
            return running[0] if len(running) == 1 else None

    def disrupt(self, pod, reason):
        """The pod is taken off its node for a reason of a DisruptionTarget."""
        with self.lock:
            pod.status()["conditions"] = [condition("DisruptionTarget", reason)]
        pod.end(signal.SIGKILL)

    def suspend(self, pod):
        """Ends the pod, and starts another one a moment after its end."""
        with self.lock:
            self.jobs[pod.name]["status"]["conditions"] = [condition("Suspended", "JobSuspended")]
            self.pods.pop(pod.name)
        pod.end()
        pod.process.wait()
        time.sleep(SUSPENDED_S)
        with self.lock:
            job = self.jobs[pod.name]
            job["status"].pop("conditions")
            self.pods[pod.name] = Pod(job, "n2")
        threading.Thread(target=self.run, args=(pod.name, self.pods[pod.name]), daemon=True).start()

    def unfinished(self):
        with self.lock:
            return [name for name, job in self.jobs.items() if not job["status"].get("conditions")]
