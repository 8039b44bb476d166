import t from "tap";
import { defaultPodTemplate, revisionHash } from "../../kube/core/index.ts";
import { hasTemplate } from "../objects/index.ts";
import { nativeRevisionData, templateOf } from "./revisions.ts";

t.test("revisions are named as Kubernetes 1.34 names them", async (t) => {
  const template = defaultPodTemplate({
    metadata: { labels: { app: "nginx" } },
    spec: {
      containers: [
        {
          name: "nginx",
          image: "nginx:1.20",
          imagePullPolicy: "IfNotPresent",
          ports: [{ name: "web", containerPort: 80, protocol: "TCP" }],
          volumeMounts: [{ name: "www", mountPath: "/usr/share/nginx/html" }],
        },
      ],
    },
  });
  const owner = { metadata: {}, spec: { template } };
  if (!hasTemplate(owner)) throw new Error("no template");
  const data = nativeRevisionData(owner.spec.template);
  // The name that a 1.34 control plane gave to this very template.
  t.equal(`web-${revisionHash(data)}`, "web-6d55785b46");
  t.notMatch(data, /creationTimestamp/);
  const revision = { metadata: { name: "web-1" }, revision: 1, data: JSON.parse(data) };
  t.match(templateOf(revision), {
    metadata: { labels: { app: "nginx" } },
    spec: { containers: [{ image: "nginx:1.20" }] },
  });
});
