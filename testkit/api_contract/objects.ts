/** Objects that many cases start from. */
import type { Fields } from "../../sandbox/json.ts";

export function podBody(name: string, changes: Fields = {}): Fields {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    // No scheduler takes it, so that it stays as it is.
    spec: { schedulerName: "nobody", containers: [{ name: "main", image: "example.com/app:1" }] },
    ...changes,
  };
}

export function configMapBody(name: string, changes: Fields = {}): Fields {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" }, ...changes };
}

export function ownerOf(owner: Fields, options: Fields = {}): Fields {
  const metadata = owner["metadata"];
  const { name, uid } =
    typeof metadata === "object" && metadata !== null
      ? { name: "", uid: "", ...metadata }
      : { name: "", uid: "" };
  return { apiVersion: "v1", kind: "ConfigMap", name, uid, ...options };
}
