import fc from "fast-check";
import protobuf from "protobufjs";
import t from "tap";
import {
  Container,
  ContainerConfig,
  decode,
  encode,
  LinuxContainerResources,
  WireError,
} from "./cri/index.ts";

const definition = protobuf.loadSync("proto/cri/runtime.proto");
const seed = 20260101;

t.test("what it writes, an independent codec reads, and the other way round", async (t) => {
  const labels = fc.dictionary(fc.string({ minLength: 1 }), fc.string());
  const sample = fc.record({
    metadata: fc.record({ name: fc.string(), attempt: fc.nat() }),
    command: fc.array(fc.string()),
    envs: fc.array(fc.record({ key: fc.string(), value: fc.uint8Array() })),
    labels,
    annotations: labels,
    tty: fc.boolean(),
    linux: fc.record({
      resources: fc.record({
        cpu_period: fc.maxSafeInteger(),
        oom_score_adj: fc.integer({ min: -1000, max: 1000 }),
        unified: labels,
      }),
      security_context: fc.record({ supplemental_groups: fc.array(fc.maxSafeNat()) }),
    }),
  });
  const reference = definition.lookupType("runtime.v1.ContainerConfig");
  fc.assert(
    fc.property(sample, (value) => {
      const bytes = encode(ContainerConfig, value);
      const theirs = reference.decode(bytes);
      const again = decode(ContainerConfig, reference.encode(theirs).finish());
      t.same({ ...again.labels }, value.labels);
      t.same(again.command, value.command);
      t.same(
        again.envs.map((env) => [env.key, [...env.value]]),
        value.envs.map((env) => [env.key, [...env.value]]),
      );
      t.equal(again.linux?.resources?.cpu_period, value.linux.resources.cpu_period);
      t.equal(again.linux?.resources?.oom_score_adj, value.linux.resources.oom_score_adj);
      t.same(
        again.linux?.security_context?.supplemental_groups,
        value.linux.security_context.supplemental_groups,
      );
      t.equal(again.metadata?.attempt, value.metadata.attempt);
      t.equal(again.tty, value.tty);
    }),
    { seed, numRuns: 200 },
  );
});

t.test("no bytes crash it: it decodes or throws WireError", async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        return decode(Container, bytes).labels !== undefined;
      } catch (error) {
        return error instanceof WireError;
      }
    }),
    { seed, numRuns: 2000 },
  );
  const whole = encode(Container, { id: "abc", labels: { a: "b" }, metadata: { name: "web", attempt: 3 } });
  for (let cut = 1; cut < whole.length; cut++) {
    let got: unknown;
    try {
      got = decode(Container, whole.subarray(0, cut));
    } catch (error) {
      got = error;
    }
    t.ok(got instanceof WireError || (typeof got === "object" && got !== null), `cut at ${cut}`);
  }
});

t.test("a hostile map key does not reach the prototype", async (t) => {
  const bytes = encode(Container, { labels: JSON.parse('{"__proto__":"evil","ok":"1"}') });
  const read = decode(Container, bytes);
  t.equal(Object.getPrototypeOf(read.labels), null);
  t.equal(read.labels["ok"], "1");
  t.equal({}.constructor, Object);
});

t.test("values of a wrong type are refused before they are sent", async (t) => {
  t.throws(
    () => encode(LinuxContainerResources, { cpu_shares: 1.5 }),
    /cpu_shares: 1.5 is not of type int64/,
  );
  const notText: unknown = JSON.parse('{"id":7}');
  if (typeof notText === "object" && notText !== null) {
    t.throws(() => encode(Container, notText), /Container.id: expected string, got number/);
  }
});
