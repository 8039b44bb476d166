import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import tls, { connect as connectTls } from "node:tls";
import t from "tap";
import { convertObject } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { nullLog } from "../../../kube/index.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { testLog } from "../../../testkit/kube/fake_log.ts";
import { servingNames } from "./certificates/certificate_set.ts";
import { generateCertificates } from "./certificates/generate.ts";
import { webhookReadiness } from "./readiness.ts";
import { type AdmissionHandler, allowed, denied, patched } from "./request.ts";
import {
  AdmissionServer,
  type AdmissionServerOptions,
  nullAdmissionMetrics,
  type ServingCertificate,
} from "./server.ts";

const clock = testClock();
const certificates = await generateCertificates(servingNames({ name: "s", namespace: "n" }), Date.now());
const renewed = await generateCertificates(
  servingNames({ name: "s", namespace: "n" }),
  Date.now(),
  certificates,
);

const handlers = new Map<string, AdmissionHandler>([
  ["/allow", () => allowed],
  ["/deny", () => denied(422, "spec: Required value")],
  ["/forbid", async () => denied(403, "protected")],
  ["/patch", () => patched([{ op: "add", path: "/spec", value: {} }])],
  ["/warn", () => ({ allowed: true, warnings: ["look out"] })],
  [
    "/throw",
    () => {
      throw new Error("broken inside");
    },
  ],
]);

function source(first: ServingCertificate) {
  let use: (certificate: ServingCertificate) => void = () => undefined;
  return {
    subscribe: (subscriber: (certificate: ServingCertificate) => void) => {
      use = subscriber;
      use(first);
      return () => undefined;
    },
    renew: (next: ServingCertificate) => use(next),
  };
}

type TestContext = { teardown(run: () => Promise<void>): void };

async function serve(t: TestContext, options: Partial<AdmissionServerOptions> = {}) {
  const server = new AdmissionServer({
    port: 0,
    host: "127.0.0.1",
    certificates: source(certificates),
    handlers,
    convert: convertObject,
    log: nullLog,
    metrics: nullAdmissionMetrics,
    clock,
    ...options,
  });
  const { port } = await server.listen();
  t.teardown(async () => {
    const closed = server.close(0);
    clock.skip(1);
    await closed;
  });
  return { server, port };
}

interface Answer {
  status: number;
  text: string;
  json: JsonObject;
}

function post(
  port: number,
  path: string,
  body: string,
  headers: Record<string, string> = { "content-type": "application/json" },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: "localhost",
      port,
      path,
      method: "POST",
      ca: certificates.caCert,
      headers,
      agent: false,
    };
    const call = httpsRequest({ ...options, lookup: loopback }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          text,
          json: text.startsWith("{") ? JSON.parse(text) : {},
        });
      });
    });
    call.on("error", reject);
    call.end(body);
  });
}

/** The test server listens on IPv4 only. */
function loopback(
  _name: string,
  _options: unknown,
  done: (error: null, address: { address: string; family: number }[]) => void,
): void {
  done(null, [{ address: "127.0.0.1", family: 4 }]);
}

function review(request: JsonObject = {}, apiVersion = "admission.k8s.io/v1"): string {
  return JSON.stringify({
    apiVersion,
    kind: "AdmissionReview",
    request: { uid: "u-1", operation: "CREATE", object: {}, ...request },
  });
}

t.test("answers carry version, uid, allowed", async (t) => {
  const { port } = await serve(t);
  for (const apiVersion of ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]) {
    const answer = await post(port, "/allow", review({}, apiVersion));
    t.equal(answer.status, 200);
    t.strictSame(answer.json, {
      kind: "AdmissionReview",
      apiVersion,
      response: { uid: "u-1", allowed: true },
    });
  }
  t.match((await post(port, "/deny?timeout=10s", review())).json, {
    response: { uid: "u-1", allowed: false, status: { code: 422, message: "spec: Required value" } },
  });
  t.match((await post(port, "/forbid", review())).json, {
    response: { allowed: false, status: { code: 403, reason: "Forbidden" } },
  });
  t.match((await post(port, "/warn", review())).json, {
    response: { allowed: true, warnings: ["look out"] },
  });
  t.match((await post(port, "/allow", review({ uid: 'a"b' }))).json, { response: { uid: 'a"b' } });
  const patch = await post(port, "/patch", review());
  t.match(patch.json, { response: { allowed: true, patchType: "JSONPatch" } });
  const encoded = Object(patch.json["response"]).patch;
  t.strictSame(JSON.parse(Buffer.from(encoded, "base64").toString()), [
    { op: "add", path: "/spec", value: {} },
  ]);
});

t.test("what is no review is answered with 400, and the server stays up", async (t) => {
  const { port } = await serve(t);
  const bodies = [
    "",
    "{",
    "[]",
    "null",
    "{}",
    '{"kind":"AdmissionReview"}',
    review({ uid: "" }),
    review({ operation: "X" }),
  ];
  for (const body of [...bodies, JSON.stringify({ apiVersion: "v1", kind: "Pod" })]) {
    const answer = await post(port, "/allow", body);
    t.equal(answer.status, 400, body);
    t.match(answer.json, { response: { allowed: false, status: { code: 400, message: String } } });
  }
  t.equal((await post(port, "/allow", review(), { "content-type": "text/plain" })).status, 400);
  t.equal((await post(port, "/allow", review())).status, 200);
});

t.test("a handler that throws denies with 500 and is logged", async (t) => {
  const log = testLog();
  const { port } = await serve(t, { log });
  t.match((await post(port, "/throw", review())).json, {
    response: { allowed: false, status: { code: 500, message: "broken inside" } },
  });
  t.ok(log.lines.some((line) => line.level === "error" && line.message === "admission handler failed"));
  t.equal((await post(port, "/allow", review())).status, 200);
});

t.test("unknown paths, other methods, healthz", async (t) => {
  const { port } = await serve(t);
  t.equal((await post(port, "/nothing", review())).status, 404);
  const { statusCode } = await new Promise<{ statusCode?: number | undefined }>((resolve, reject) => {
    httpsRequest(
      { host: "localhost", port, path: "/allow", ca: certificates.caCert, agent: false, lookup: loopback },
      resolve,
    )
      .on("error", reject)
      .end();
  });
  t.equal(statusCode, 405);
  t.equal((await post(port, "/healthz", "")).text, "ok");
});

t.test("bodies have a limit, declared or not", async (t) => {
  const { port } = await serve(t, { limits: { reviewBytes: 1000, conversionBytes: 5000 } });
  const large = review({ object: { data: "x".repeat(2000) } });
  t.equal((await post(port, "/allow", large)).status, 413);
  t.equal(
    (
      await post(port, "/allow", large, {
        "content-type": "application/json",
        "transfer-encoding": "chunked",
      })
    ).status,
    413,
  );
  t.equal((await post(port, "/convert", large)).status, 400, "conversions may be larger");
  t.equal((await post(port, "/allow", review())).status, 200);
});

t.test("all bodies together have a limit", async (t) => {
  const { port } = await serve(t, { limits: { bufferedBytes: 100 } });
  t.equal((await post(port, "/allow", review({ object: { data: "x".repeat(2000) } }))).status, 503);
});

t.test("a client that does not go on sending is cut off", async (t) => {
  const { port } = await serve(t, { limits: { bodyMs: 1000 } });
  const socket = connectTls({ host: "127.0.0.1", port, ca: certificates.caCert, servername: "localhost" });
  t.teardown(() => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const before = clock.pending;
  socket.write(
    "POST /allow HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{",
  );
  while (clock.pending === before) await new Promise((resolve) => setImmediate(resolve));
  clock.skip(1000);
  await closed;
  t.ok(socket.destroyed);
  t.equal((await post(port, "/allow", review())).status, 200);
});

t.test("bodies that nest too deep are refused, not parsed", async (t) => {
  const { port } = await serve(t);
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const deep = (depth: number) => `${review().slice(0, -2)},"name":"\\"[[","options":${nested(depth)}}}`;
  t.equal((await post(port, "/allow", deep(990))).status, 200);
  t.equal((await post(port, "/allow", deep(100_000))).status, 400);
  t.equal((await post(port, "/allow", "[".repeat(1_000_000))).status, 400);
  t.equal((await post(port, "/convert", nested(100_000))).status, 400);
});

t.test("a body in many pieces arrives as it was sent", async (t) => {
  const { port } = await serve(t);
  const body = review({ uid: "piecewise", name: "x".repeat(3000) });
  const session = connectHttp2(`https://localhost:${port}`, { ca: certificates.caCert, lookup: loopback });
  t.teardown(() => session.close());
  const stream = session.request({
    ":method": "POST",
    ":path": "/allow",
    "content-type": "application/json",
  });
  for (let at = 0; at < body.length; at += 7) stream.write(body.slice(at, at + 7));
  stream.end();
  let text = "";
  for await (const chunk of stream) text += chunk;
  t.equal(JSON.parse(text).response.uid, "piecewise");
});

t.test("HTTP/2 is spoken, many reviews on one connection", async (t) => {
  const { port } = await serve(t);
  const session = connectHttp2(`https://localhost:${port}`, { ca: certificates.caCert, lookup: loopback });
  t.teardown(() => session.close());
  const ask = (uid: string) =>
    new Promise<string>((resolve, reject) => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/allow",
        "content-type": "application/json",
      });
      let text = "";
      stream.setEncoding("utf8");
      stream.on("data", (chunk) => {
        text += chunk;
      });
      stream.on("end", () => resolve(text));
      stream.on("error", reject);
      stream.end(review({ uid }));
    });
  const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => ask(`u-${index}`)));
  t.ok(answers.every((answer, index) => JSON.parse(answer).response.uid === `u-${index}`));
});

t.test("a new certificate is served to new connections without a restart", async (t) => {
  const held = source(certificates);
  const { port } = await serve(t, { certificates: held });
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls(
        { host: "127.0.0.1", port, ca: certificates.caCert, servername: "localhost" },
        () => {
          resolve(socket.getPeerX509Certificate()?.serialNumber ?? "");
          socket.destroy();
        },
      );
      socket.on("error", reject);
    });
  const before = await serial();
  held.renew(renewed);
  t.not(await serial(), before);
  t.equal((await post(port, "/allow", review())).status, 200);
});

t.test("conversion reviews", async (t) => {
  const { port } = await serve(t);
  const object = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { name: "a" },
    spec: {},
  };
  const ask = (request: JsonObject, apiVersion = "apiextensions.k8s.io/v1") =>
    post(
      port,
      "/convert",
      JSON.stringify({
        apiVersion,
        kind: "ConversionReview",
        request: { uid: "c", desiredAPIVersion: "apps.kruise.io/v1beta1", objects: [object], ...request },
      }),
    );
  for (const apiVersion of ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"]) {
    t.match((await ask({}, apiVersion)).json, {
      apiVersion,
      kind: "ConversionReview",
      response: {
        uid: "c",
        result: { status: "Success" },
        convertedObjects: [{ apiVersion: "apps.kruise.io/v1beta1", metadata: { name: "a" } }],
      },
    });
  }
  t.match((await ask({ desiredAPIVersion: "apps.kruise.io/v7" })).json, {
    response: { uid: "c", result: { status: "Failed", message: /unsupported version: v7/ } },
  });
  t.match((await ask({ objects: [{ apiVersion: "v1", kind: "Pod" }] })).json, {
    response: { result: { status: "Failed", message: /no conversion of Pod/ } },
  });
  t.match((await ask({ objects: [null] })).json, { response: { result: { status: "Failed" } } });
  t.equal((await ask({ objects: "x" })).status, 400);
  t.equal((await post(port, "/convert", "")).status, 400);
  t.equal((await post(port, "/convert", "{}")).status, 400);
});

t.test("reviews are counted by path and answer", async (t) => {
  const counted: string[] = [];
  const { port } = await serve(t, {
    metrics: {
      review: (path, code) => counted.push(`${path} ${code}`),
      failed: () => counted.push("failed"),
    },
  });
  await post(port, "/allow", review());
  await post(port, "/deny", review());
  await post(port, "/deny", "");
  await post(port, "/throw", review());
  t.strictSame(counted, ["/allow 200", "/deny 422", "/deny 400", "failed", "/throw 500"]);
});

t.test("readiness says why webhooks cannot be called", async (t) => {
  const check = (caCert: string | undefined, port: number | undefined) =>
    webhookReadiness({ caCert: () => caCert, port: () => port, host: "localhost" })();
  t.match(await check(undefined, 1), "webhook controller has not initialized");
  const { port } = await serve(t, { host: "localhost" });
  t.equal(await check(certificates.caCert, port), undefined);
  t.match(await check(certificates.cert, port), "webhook server cannot be reached");
});

t.test(
  "TLS below 1.2 is not spoken, whatever the process allows, with a renewed certificate, too",
  async (t) => {
    const allowed = tls.DEFAULT_MIN_VERSION;
    const ciphers = tls.DEFAULT_CIPHERS;
    t.teardown(() => {
      tls.DEFAULT_MIN_VERSION = allowed;
      tls.DEFAULT_CIPHERS = ciphers;
    });
    tls.DEFAULT_MIN_VERSION = "TLSv1";
    tls.DEFAULT_CIPHERS = "ALL:@SECLEVEL=0";
    const certificate = source(certificates);
    const { port } = await serve(t, { certificates: certificate });
    const speaks = (version: tls.SecureVersion) =>
      new Promise<boolean>((resolve) => {
        const versions = { minVersion: version, maxVersion: version };
        const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...versions });
        socket.once("secureConnect", () => resolve(true)).once("error", () => resolve(false));
        socket.once("close", () => resolve(false)).once("secureConnect", () => socket.destroy());
      });
    for (const renewal of [undefined, renewed]) {
      if (renewal !== undefined) certificate.renew(renewal);
      t.equal(await speaks("TLSv1.1"), false);
      t.equal(await speaks("TLSv1.2"), true);
      t.equal(await speaks("TLSv1.3"), true);
    }
  },
);
