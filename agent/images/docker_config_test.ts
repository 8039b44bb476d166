import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { nullLog } from "../../kube/index.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import {
  type CredentialProvider,
  loadPlugins,
  parseAnswer,
  parseProviderConfig,
} from "./credential_plugins.ts";
import { matchingLogins, parseDockerConfig, patternMatches } from "./docker_config.ts";

const basic = (user: string, password: string): string =>
  Buffer.from(`${user}:${password}`).toString("base64");
const users = (text: string, repository: string): string[] =>
  matchingLogins(parseDockerConfig(text, "test"), repository).map((login) => login.username);

t.test("both formats, schemes and Docker Hub's name", async (t) => {
  const config = JSON.stringify({
    auths: {
      "https://index.docker.io/v1/": { auth: basic("hub", "p:with:colons") },
      "reg.io": { username: "reg", password: "x" },
      "reg.io/team": { username: "team", password: "x" },
      "*.corp.example:5000": { username: "corp", password: "x" },
    },
  });
  t.same(users(config, "docker.io/library/nginx"), ["hub"]);
  t.equal(matchingLogins(parseDockerConfig(config, "test"), "docker.io/a/b")[0]?.password, "p:with:colons");
  t.same(users(config, "reg.io/team/app"), ["team", "reg"], "the most specific first");
  t.same(users(config, "reg.io/other"), ["reg"]);
  t.same(users(config, "a.corp.example:5000/x"), ["corp"]);
  t.same(users(config, "a.corp.example/x"), []);
  t.same(users(JSON.stringify({ "reg.io": { auth: basic("old", "x") } }), "reg.io/a"), ["old"]);
});

t.test("keys are read as the kubelet's keyring reads them", async (t) => {
  const matches = (key: string, repository: string): boolean =>
    users(JSON.stringify({ auths: { [key]: { auth: basic("u", "p") } } }), repository).length > 0;
  for (const key of ["reg.io", "reg.io/", "https://reg.io/v1/", "http://reg.io/v2/", "https://reg.io/v2"])
    t.ok(matches(key, "reg.io/team/app"), key);
  t.ok(matches("https://reg.io/v2/team", "reg.io/team/app"), "a version before the path");
  t.notOk(matches("https://reg.io/v2/team", "reg.io/other/app"));
  t.ok(matches("reg.io/team/", "reg.io/team/app"));
  t.notOk(matches("reg.io/team/", "reg.io/teams/app"), "the slash ends the name");
  t.ok(matches("reg.io/v2tools", "reg.io/v2tools/app"));
});

t.test("malformed files are errors that show nothing of their content", async (t) => {
  for (const text of ["{", '"secret"', '{"auths":7}', '{"auths":{"a":{"auth":"c2VjcmV0"}}}']) {
    t.throws(() => parseDockerConfig(text, "secret ns/name"), { code: "Config", message: /secret ns\/name/ });
  }
  try {
    parseDockerConfig("password=hunter2", "file");
  } catch (error) {
    t.notMatch(String(error), "hunter2");
  }
});

t.test("globs stay within a label and are fast", async (t) => {
  t.ok(patternMatches("*.example.com", "a.example.com/x"));
  t.notOk(patternMatches("*.example.com", "a.b.example.com/x"));
  const evil = `${"*a".repeat(2000)}b`;
  t.notOk(patternMatches(evil, "a".repeat(5000)));
});

const provider: CredentialProvider = {
  name: "fetch-login",
  matchImages: ["*.registry.example"],
  cacheMs: 60_000,
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
  args: [],
  env: {},
};
const answer = JSON.stringify({
  kind: "CredentialProviderResponse",
  apiVersion: provider.apiVersion,
  cacheKeyType: "Registry",
  auth: { "*.registry.example": { username: "u", password: "p" } },
});

t.test("plugin configuration and answers are checked", async (t) => {
  const config = {
    kind: "CredentialProviderConfig",
    apiVersion: "kubelet.config.k8s.io/v1",
    providers: [{ ...provider, defaultCacheDuration: "1m", env: [{ name: "A", value: "b" }], args: ["get"] }],
  };
  t.same(parseProviderConfig(config, "x"), [
    { ...provider, cacheMs: 60_000, env: { A: "b" }, args: ["get"] },
  ]);
  const named = { ...config, providers: [{ ...provider, name: "../../bin/sh" }] };
  t.throws(() => parseProviderConfig(named, "x"), /not the name of an executable/);
  t.throws(() => parseProviderConfig({ ...config, apiVersion: "v9" }, "x"), /apiVersion v9/);
  t.equal(parseAnswer(answer, provider).logins.length, 1);
  const withScheme = parseAnswer(answer.replace('"*.registry', '"https://*.registry'), provider);
  t.equal(matchingLogins(withScheme.logins, "a.registry.example/x").length, 1, "as keys of Docker's files");
  t.throws(() => parseAnswer("hunter2", provider), { code: "Config", message: /did not print JSON/ });
  t.throws(() => parseAnswer(answer.replace("Registry", "Moon"), provider), /cacheKeyType/);
});

t.test("plugins are asked for matching images and cached as they say", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "refit-plugins-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const configFile = join(folder, "config.yaml");
  await writeFile(
    configFile,
    `kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/v1\nproviders:\n- name: fetch-login\n  matchImages: ["*.registry.example"]\n  defaultCacheDuration: 1m\n  apiVersion: ${provider.apiVersion}\n`,
  );
  await writeFile(
    join(folder, "fetch-login"),
    `#!/bin/sh\ngrep -q '"image":"a.registry.example/x"' && echo '${answer}'\n`,
    {
      mode: 0o755,
    },
  );
  const clock = testClock();
  const real = await loadPlugins({ configFile, binaryFolder: folder }, { clock, log: nullLog });
  const signal = new AbortController().signal;
  t.same(await real.logins("a.registry.example/x", signal), [{ username: "u", password: "p" }]);
  t.same(await real.logins("other.example/x", signal), []);
  let runs = 0;
  const run = async (): Promise<string> => {
    runs++;
    return answer;
  };
  const counted = await loadPlugins({ configFile, binaryFolder: folder }, { clock, log: nullLog, run });
  await counted.logins("a.registry.example/x", signal);
  await counted.logins("a.registry.example/y", signal);
  t.equal(runs, 1, "cached for the registry");
  await clock.advance(61_000);
  await counted.logins("a.registry.example/y", signal);
  t.equal(runs, 2);
});
