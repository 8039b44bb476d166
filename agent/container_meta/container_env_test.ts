import t from "tap";
import { recordedEnv } from "./container_env.ts";

t.test("environments are read from what the runtime recorded, text or base64", async (t) => {
  const text = JSON.stringify({ config: { envs: [{ key: "A", value: "two\nlines" }, { key: "B" }] } });
  t.same(
    [...(recordedEnv(text) ?? [])],
    [
      ["A", "two\nlines"],
      ["B", ""],
    ],
  );
  const base64 = (value: string): string => Buffer.from(value).toString("base64");
  const encoded = {
    envs: [
      { key: "KUBERNETES_PORT", value: base64("tcp://10.0.0.1:443") },
      { key: "A", value: base64("x") },
    ],
  };
  t.equal(recordedEnv(JSON.stringify({ config: encoded }))?.get("A"), "x");
  t.equal(
    recordedEnv(JSON.stringify({ config: { envs: [{ key: "A", value: "abcd" }] } })),
    undefined,
    "text or base64: both fit",
  );
  t.equal(recordedEnv("{"), undefined);
});
