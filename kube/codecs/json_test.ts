import t from "tap";
import type { KubeObject } from "../core/types.ts";
import { jsonCodec } from "./json.ts";

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

t.test("objects are kept as they are, but for the record of who wrote which field", async (t) => {
  const codec = jsonCodec<KubeObject>();
  const metadata = { name: "a", namespace: "ns", uid: "u", resourceVersion: "7", labels: { app: "web" } };
  const kept = { apiVersion: "example.org/v1", kind: "Widget", metadata, spec: { size: 3 } };
  const sent = { ...kept, metadata: { ...metadata, managedFields: [{ manager: "kubectl" }] } };
  t.strictSame(codec.decode(bytes(sent), codec.accept), kept);
  t.strictSame(codec.decodeList(bytes({ items: [sent, kept], metadata: {} }), codec.accept).items, [
    kept,
    kept,
  ]);
  t.throws(() => codec.decode(bytes({ metadata: {} }), codec.accept), { code: "Decode" });
});
