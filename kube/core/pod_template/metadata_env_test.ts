import t from "tap";
import { envHash, extractMetadataEnv, metadataReference } from "../index.ts";

const env = (name: string, fieldPath: string, value?: string) => ({
  name,
  value,
  valueFrom: { fieldRef: { fieldPath } },
});

t.test("only variables from labels and annotations without a literal value count", (t) => {
  const container = {
    env: [
      { name: "PLAIN", value: "x" },
      env("NAME", "metadata.name"),
      env("ALL", "metadata.labels"),
      env("SIDECARSET_VERSION", "metadata.annotations['v']"),
      env("TEST_ENV", "metadata.labels['test-env']"),
      env("NOTE", "metadata.annotations['a.b/c']"),
      env("OBJECT", "metadata.labels['constructor']"),
      null,
    ],
  };
  const metadata = { labels: { "test-env": "foo" } };
  t.same(extractMetadataEnv(container, metadata), [
    { name: "TEST_ENV", value: "foo" },
    { name: "NOTE", value: "" },
    { name: "OBJECT", value: "" },
  ]);
  t.equal(
    envHash(extractMetadataEnv({ env: [env("TEST_ENV", "metadata.labels['test-env']")] }, metadata)),
    27323935,
  );
  t.end();
});

t.test("field paths", (t) => {
  t.same(metadataReference("metadata.labels['a']"), { from: "labels", key: "a" });
  t.same(metadataReference("metadata.annotations['x/y']"), { from: "annotations", key: "x/y" });
  t.equal(metadataReference("metadata.labels"), undefined);
  t.equal(metadataReference("metadata.uid"), undefined);
  t.end();
});
