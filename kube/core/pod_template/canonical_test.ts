import t from "tap";
import {
  canonicalPodTemplate,
  claimTemplatesHash,
  defaultPodTemplate,
  revisionData,
  revisionDataEqual,
  revisionHash,
} from "../index.ts";

const template = (app: string, image: string, container: object = {}, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "nginx", image, ...container }], ...spec },
});
const name = (template: object) => revisionHash(revisionData(defaultPodTemplate(template)));

t.test("golden revision data (rule 36) and names (rule 37)", (t) => {
  t.equal(
    revisionData(defaultPodTemplate(template("sample", "nginx:alpine"))),
    '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"sample"}},"spec":{"containers":[{"image":"nginx:alpine","imagePullPolicy":"Always","name":"nginx","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}',
  );
  t.equal(name(template("sample", "nginx:alpine")), "d4d4fb5bd");
  t.equal(name(template("sample", "nginx:mainline")), "56dfb978d4");
  t.equal(name(template("sample", "nginx:1.21")), "76798454df");
  t.end();
});

t.test("names seen in clusters", (t) => {
  const present = { imagePullPolicy: "IfNotPresent" };
  const ports = [{ name: "web", containerPort: 80 }];
  const gate = { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] };
  t.equal(name(template("sample", "nginx:1.20", present)), "79c667d6cb");
  t.equal(name(template("sample", "nginx:1.21", present)), "68b8b897b7");
  t.equal(name(template("nginx", "nginx:1.20", { ...present, ports })), "7fdb9978c4");
  t.equal(name(template("nginx", "nginx:1.21", { ...present, ports })), "7787d5b67");
  t.equal(name(template("nginx", "nginx:1.20", { ...present, ports }, gate)), "f556fffd7");
  t.equal(name(template("nginx", "nginx:1.21", { ...present, ports }, gate)), "5b594bc4f8");
  t.equal(name(template("nginx", "nginx:1.7.9", { ports }, gate)), "67975fc8c9");
  const mount = { ...present, ports, volumeMounts: [{ name: "www", mountPath: "/usr/share/nginx/html" }] };
  t.equal(name(template("nginx", "nginx:1.20", mount)), "74dc749cdd");
  const data = revisionData(defaultPodTemplate(template("nginx", "nginx:1.20", mount)));
  const native = data.replace('"metadata":{"creationTimestamp":null,', '"metadata":{');
  t.equal(revisionHash(native), "6d55785b46", "the built-in kind since 1.34");
  t.equal(revisionDataEqual(data, native), true);
  t.equal(revisionDataEqual(data, data.replace("1.20", "1.21")), false);
  t.not(revisionHash(data, 1), revisionHash(data, 0), "a collision gives another name");
  t.end();
});

t.test("a typed round trip drops, normalises and keeps as Kubernetes 1.32 does", (t) => {
  t.equal(
    canonicalPodTemplate({
      metadata: {
        annotations: { "a<b": "&" },
        labels: {},
        creationTimestamp: "2023-03-01T04:45:33.5+01:00",
        foo: 1,
      },
      spec: {
        hostnameOverride: "new in 1.34",
        containers: [
          {
            name: "c",
            resources: { limits: { cpu: "0.5", memory: "1024Mi" }, requests: {} },
            stdin: false,
            args: [],
            livenessProbe: { httpGet: { port: "web" }, initialDelaySeconds: 0 },
            env: [{ name: "A", value: "" }],
            unknown: true,
          },
        ],
        volumes: [
          { name: "v", emptyDir: {} },
          { name: "w", hostPath: null },
        ],
        securityContext: { runAsUser: 0 },
        activeDeadlineSeconds: null,
      },
    }),
    '{"metadata":{"annotations":{"a\\u003cb":"\\u0026"},"creationTimestamp":"2023-03-01T03:45:33Z"},"spec":{"containers":[{"env":[{"name":"A"}],"livenessProbe":{"httpGet":{"port":"web"}},"name":"c","resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}],"securityContext":{"runAsUser":0},"volumes":[{"emptyDir":{},"name":"v"},{"name":"w"}]}}',
  );
  t.equal(canonicalPodTemplate({}), '{"metadata":{"creationTimestamp":null},"spec":{"containers":null}}');
  t.end();
});

t.test("claim templates hash by name and spec, in any order (rule 41)", (t) => {
  const claim = (name: string) => ({
    metadata: { name, labels: { ignored: "yes" } },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { limits: { storage: "2Gi" }, requests: { storage: "1Gi" } },
    },
  });
  t.equal(claimTemplatesHash([claim("pvc-1")]), 1129974074);
  t.equal(claimTemplatesHash([claim("b"), claim("a")]), claimTemplatesHash([claim("a"), claim("b")]));
  t.end();
});
