import t from "tap";
import { claimBody } from "./pod_manifest.ts";

t.test("a claim has the metadata of its template, finalizers too", async (t) => {
  const template = {
    metadata: {
      name: "data",
      labels: { app: "other", tier: "db" },
      annotations: { note: "kept" },
      finalizers: ["example.com/backup"],
    },
    spec: { accessModes: ["ReadWriteOnce"] },
  };
  t.strictSame(claimBody(template, "data-web-0", "ns", { app: "web" }, undefined), {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: "data-web-0",
      namespace: "ns",
      labels: { app: "web", tier: "db" },
      annotations: { note: "kept" },
      finalizers: ["example.com/backup"],
    },
    spec: { accessModes: ["ReadWriteOnce"] },
  });
});
