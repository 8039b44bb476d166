import t from "tap";
import { objectParts, podParts } from "./parts.ts";

const kinds = [{ group: "apps.kruise.io", version: "v1beta1", plural: "sidecarsets" }];

t.test("each list is asked for once, Secrets never, a namespace's own on request", (t) => {
  const options = { namespace: "kruise-system", limit: 7 };
  const usual = objectParts(kinds, { ...options, workloads: undefined });
  const more = objectParts(kinds, { ...options, workloads: "shop" });
  for (const parts of [usual, more]) {
    t.equal(new Set(parts.map(({ file }) => file)).size, parts.length);
    t.equal(new Set(parts.map(({ path }) => path)).size, parts.length);
    t.notOk(parts.some(({ path }) => path.includes("secrets")));
  }
  t.ok(usual.some(({ path }) => path === "/apis/apps.kruise.io/v1beta1/sidecarsets?limit=7"));
  t.strictSame(
    more.filter(({ file }) => file.startsWith("namespaces/shop/")).map(({ path }) => path),
    [
      "/api/v1/namespaces/shop/pods?limit=7",
      "/api/v1/namespaces/shop/events?limit=7",
      "/api/v1/namespaces/shop/persistentvolumeclaims?limit=7",
      "/apis/apps/v1/namespaces/shop/controllerrevisions?limit=7",
    ],
  );
  t.end();
});

const pod = (name: string, label: string, restarts: number) => ({
  metadata: { name, namespace: "kruise-system", labels: { "control-plane": label } },
  spec: { containers: [{ name: "main", ports: [{ name: "metrics", containerPort: 8080 }] }] },
  status: {
    containerStatuses: [
      {
        name: "main",
        restartCount: restarts,
        lastState: restarts > 0 ? { terminated: { exitCode: 1 } } : {},
      },
    ],
  },
});

t.test("logs of a container that was restarted are those of before, too", (t) => {
  t.strictSame(podParts([pod("a", "controller-manager", 1)], 5), [
    {
      file: "logs/a.main.log",
      path: "/api/v1/namespaces/kruise-system/pods/a/log?container=main&tailLines=5",
    },
    {
      file: "logs/a.main.previous.log",
      path: "/api/v1/namespaces/kruise-system/pods/a/log?container=main&tailLines=5&previous=true",
    },
    { file: "metrics/a.txt", path: "/api/v1/namespaces/kruise-system/pods/a:8080/proxy/metrics" },
  ]);
  t.end();
});

t.test("of many agents those are chosen that were restarted most; what is no pod is passed over", (t) => {
  const agents = Array.from({ length: 100 }, (_, index) =>
    pod(`agent-${index}`, "daemon", index === 77 ? 3 : 0),
  );
  const files = podParts([...agents, pod("other", "shop", 9), undefined, "text", {}], 5).map(
    ({ file }) => file,
  );
  t.equal(files[0], "logs/agent-77.main.log");
  t.equal(files.filter((file) => file.startsWith("metrics/")).length, 10);
  t.notOk(files.some((file) => file.includes("other")));
  t.end();
});
