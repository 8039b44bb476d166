import t from "tap";
import { testLog } from "../testkit/kube/fake_log.ts";
import { KubeError } from "./errors.ts";
import { nullLog, safeFields } from "./log.ts";
import { pinoLog } from "./pino_log.ts";

t.test("lines are JSON with ts, level, msg and the fields of the log they came through", async (t) => {
  const lines: string[] = [];
  const log = pinoLog({
    now: () => 1234,
    level: "info",
    destination: { write: (line: string) => lines.push(line) },
  });
  log.with({ controller: "cloneset-controller" }).info("scaled", { key: "ns/web", count: 3 });
  log.debug("below the level");
  t.same(
    lines.map((line) => JSON.parse(line)),
    [{ ts: 1234, level: "info", msg: "scaled", controller: "cloneset-controller", key: "ns/web", count: 3 }],
  );
});

t.test("secrets do not reach a line, wherever they stand", async (t) => {
  const fields = safeFields({
    token: "abc",
    headers: { Authorization: "Bearer abc.def-ghi", accept: "json" },
    secretName: "web-tls",
    clientKey: "-----BEGIN",
    nested: { password: "p", list: [{ bearerToken: "x" }] },
    error: new Error("refused: authorization was Bearer abc.def-ghi"),
    body: new Uint8Array(5),
  });
  const text = JSON.stringify(fields);
  t.notMatch(text, /abc|BEGIN|"p"|"x"/);
  t.match(fields, { secretName: "web-tls", headers: { accept: "json" }, body: "[5 bytes]" });
});

t.test("errors are reported with code and cause; stacks only where our own code is at fault", async (t) => {
  const log = testLog();
  log.warn("failed", {
    error: new KubeError("Conflict", "newer", { status: 409, cause: new TypeError("deep") }),
  });
  t.match(log.lines[0]?.fields, {
    error: {
      message: "newer",
      code: "Conflict",
      status: 409,
      cause: { name: "TypeError", stack: /log_test/ },
    },
  });
  t.notOk("stack" in Object(log.lines[0]?.fields["error"]));
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  t.doesNotThrow(() => log.info("circular", loop));
  t.equal(nullLog.with({ a: 1 }), nullLog);
});
