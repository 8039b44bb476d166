import t from "tap";
import { KubeError, nullLog } from "../../kube/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { Keyring, type Secret } from "./keyring.ts";

const signal = new AbortController().signal;

function secretFor(username: string): Secret {
  const config = { auths: { "registry.example": { username, password: "p" } } };
  return {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify(config)).toString("base64") },
  };
}

function bench() {
  const b = { clock: testClock(), reads: 0, failure: undefined as KubeError | undefined };
  const keyring = new Keyring({
    clock: b.clock,
    log: nullLog,
    readSecret: async (_, name) => {
      b.reads++;
      if (b.failure) throw b.failure;
      return secretFor(name);
    },
    plugins: { logins: async () => [] },
    files: [],
  });
  const users = async (name: string): Promise<(string | undefined)[]> => {
    const logins = await keyring.logins([{ namespace: "default", name }], "registry.example/app", signal);
    return logins.map(({ username }) => username);
  };
  return { b, users };
}

t.test("a secret is read once a minute; what was read stands in while the server is away", async (t) => {
  const { b, users } = bench();
  t.same(await users("one"), ["one"]);
  t.same(await users("one"), ["one"]);
  t.equal(b.reads, 1);
  await b.clock.advance(61_000);
  b.failure = new KubeError("Network", "connection refused");
  t.same(await users("one"), ["one"]);
  t.equal(b.reads, 2);
});

t.test("a secret that is gone is forgotten", async (t) => {
  const { b, users } = bench();
  await users("one");
  await b.clock.advance(61_000);
  b.failure = new KubeError("NotFound", "not found");
  t.same(await users("one"), []);
  b.failure = new KubeError("Network", "connection refused");
  t.same(await users("one"), []);
});

t.test("however many secrets pulls name, 256 are remembered", async (t) => {
  const { b, users } = bench();
  for (let index = 0; index <= 256; index++) await users(`secret-${index}`);
  await users("secret-256");
  await users("secret-1");
  t.equal(b.reads, 257, "the newest ones are known");
  await users("secret-0");
  t.equal(b.reads, 258, "the oldest one is read again");
});
