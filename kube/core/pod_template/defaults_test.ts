import t from "tap";
import { defaultPod, defaultPodTemplate, imageTag, pullPolicyByTag } from "../index.ts";

t.test("templates get Kubernetes' defaults, containers the pull policy Always", (t) => {
  const given = {
    spec: {
      initContainers: [{ name: "i", image: "busybox:1" }],
      containers: [
        {
          name: "c",
          image: "nginx:1.20",
          ports: [{ containerPort: 80 }],
          env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          readinessProbe: { httpGet: { port: 80 } },
          livenessProbe: { grpc: { port: 1 }, failureThreshold: 9 },
          lifecycle: { preStop: { httpGet: { port: 80 } } },
          resources: { limits: { cpu: "0.0001" } },
        },
      ],
      volumes: [
        { name: "a" },
        { name: "b", configMap: { name: "x" } },
        { name: "c", hostPath: { path: "/" } },
        { name: "d", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
        { name: "e", ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } } },
      ],
    },
  };
  const kept = JSON.stringify(given);
  const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
  const message = { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" };
  t.same(defaultPodTemplate(given), {
    spec: {
      initContainers: [{ name: "i", image: "busybox:1", imagePullPolicy: "IfNotPresent", ...message }],
      containers: [
        {
          name: "c",
          image: "nginx:1.20",
          imagePullPolicy: "Always",
          ...message,
          ports: [{ containerPort: 80, protocol: "TCP" }],
          env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } }],
          readinessProbe: { ...probe, httpGet: { port: 80, path: "/", scheme: "HTTP" } },
          livenessProbe: { ...probe, failureThreshold: 9, grpc: { port: 1, service: "" } },
          lifecycle: { preStop: { httpGet: { port: 80, path: "/", scheme: "HTTP" } } },
          resources: { limits: { cpu: "1m" } },
        },
      ],
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "b", configMap: { name: "x", defaultMode: 420 } },
        { name: "c", hostPath: { path: "/", type: "" } },
        {
          name: "d",
          projected: {
            defaultMode: 420,
            sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 3600 } }],
          },
        },
        {
          name: "e",
          ephemeral: {
            volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem" } },
          },
        },
      ],
      dnsPolicy: "ClusterFirst",
      restartPolicy: "Always",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      schedulerName: "default-scheduler",
    },
  });
  t.equal(JSON.stringify(given), kept, "the given template is not changed");
  t.end();
});

t.test("options of templates", (t) => {
  const given = {
    spec: { hostNetwork: true, containers: [{ name: "c", image: "a:1", ports: [{ containerPort: 80 }] }] },
  };
  t.match(defaultPodTemplate(given, { imagePullPolicy: "ByTag" }), {
    spec: { containers: [{ imagePullPolicy: "IfNotPresent" }] },
  });
  t.notMatch(defaultPodTemplate(given), { spec: { containers: [{ ports: [{ hostPort: 80 }] }] } });
  t.match(defaultPodTemplate(given, { hostNetworkPorts: true }), {
    spec: { containers: [{ ports: [{ hostPort: 80 }] }] },
  });
  t.end();
});

t.test("a pod as the API server stores it", (t) => {
  const pod = defaultPod({
    metadata: { name: "p" },
    spec: {
      hostNetwork: true,
      containers: [
        { name: "c", image: "nginx", ports: [{ containerPort: 80 }], resources: { limits: { cpu: "1" } } },
      ],
      tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }],
    },
    status: { phase: "Running" },
  });
  t.match(pod, {
    spec: {
      containers: [
        { imagePullPolicy: "Always", ports: [{ hostPort: 80 }], resources: { requests: { cpu: "1" } } },
      ],
      enableServiceLinks: true,
      serviceAccountName: "default",
      serviceAccount: "default",
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
    },
  });
  t.same(Object(pod["spec"]).tolerations, [
    { key: "node.kubernetes.io/not-ready", operator: "Exists" },
    {
      effect: "NoExecute",
      key: "node.kubernetes.io/unreachable",
      operator: "Exists",
      tolerationSeconds: 300,
    },
  ]);
  t.same(pod["status"], { phase: "Pending", qosClass: "Burstable" });
  t.same(Object(defaultPod({}))["status"], { phase: "Pending", qosClass: "BestEffort" });
  t.end();
});

t.test("tags of images", (t) => {
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  t.equal(imageTag("nginx"), "latest");
  t.equal(imageTag("localhost:5000/nginx"), "latest");
  t.equal(imageTag("localhost:5000/a/nginx:1.2"), "1.2");
  t.equal(imageTag(`nginx@${digest}`), "");
  t.equal(imageTag(`nginx:latest@${digest}`), "latest");
  t.equal(imageTag("Nginx"), "");
  t.equal(pullPolicyByTag("nginx:latest"), "Always");
  t.equal(pullPolicyByTag(`nginx@${digest}`), "IfNotPresent");
  t.end();
});
