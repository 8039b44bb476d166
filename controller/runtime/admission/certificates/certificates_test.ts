import { X509Certificate } from "node:crypto";
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { testClock } from "../../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../../testkit/kube/fake_server.ts";
import {
  type CertificateSet,
  caIsReusable,
  certificateProblem,
  renewBefore,
  servingNames,
} from "./certificate_set.ts";
import { certificateFiles, readCertificateDirectory, writeCertificateDirectory } from "./directory.ts";
import { generateCertificates } from "./generate.ts";
import { directoryStore, externalStore, secretStore, secrets } from "./store.ts";

const day = 24 * 3600 * 1000;
const now = testClock().now();
const service = { name: "kruise-webhook-service", namespace: "kruise-system" };
const names = servingNames(service);
const ref = { namespace: "kruise-system", name: "kruise-webhook-certs" };
const key = `${ref.namespace}/${ref.name}`;

const secretOptions = { ...ref, names, renewBeforeMs: 180 * day, generate: generateCertificates };

const first = await generateCertificates(names, now);

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}

t.test("a generated set has the promised form", async (t) => {
  const ca = new X509Certificate(first.caCert);
  const cert = new X509Certificate(first.cert);
  t.equal(certificateProblem(first, names, now, 180 * day), undefined);
  t.equal(ca.subject, "CN=webhook-cert-ca");
  t.equal(cert.subject, "CN=kruise-webhook-service.kruise-system.svc");
  t.match(cert.subjectAltName, /DNS:kruise-webhook-service\.kruise-system\.svc/);
  t.match(cert.subjectAltName, /DNS:localhost/);
  t.strictSame(cert.keyUsage, ["1.3.6.1.5.5.7.3.1"], "server authentication only");
  t.equal(cert.publicKey.asymmetricKeyDetails?.modulusLength, 2048);
  t.match(first.key, /^-----BEGIN RSA PRIVATE KEY-----/);
  t.match(first.caKey, /^-----BEGIN RSA PRIVATE KEY-----/);
  t.equal(Math.round((Date.parse(cert.validTo) - now) / day), 3650);
});

t.test("a host becomes a name, an address an IP name", async (t) => {
  t.strictSame(servingNames(service, "10.0.0.1").ip, ["10.0.0.1"]);
  t.strictSame(servingNames(service, "manager.example").dns.at(-1), "manager.example");
  const set = await generateCertificates(servingNames(service, "10.0.0.1"), now, first);
  t.match(new X509Certificate(set.cert).subjectAltName, /IP Address:10\.0\.0\.1/);
  t.equal(certificateProblem(set, servingNames(service, "10.0.0.1"), now, 0), undefined);
  t.match(certificateProblem(first, servingNames(service, "10.0.0.1"), now, 0), "does not name 10.0.0.1");
});

t.test("every way to be unusable has its reason", async (t) => {
  const other = await generateCertificates(names, now);
  const problem = (change: Partial<CertificateSet>, at = now, reserve = 0) =>
    certificateProblem({ ...first, ...change }, names, at, reserve);
  t.match(problem({ key: other.key }), "the key does not belong");
  t.match(problem({ caCert: other.caCert }), "not signed by the CA");
  t.match(problem({ cert: "junk" }), "unreadable");
  t.match(problem({}, now - 2 * day), "valid only from");
  t.match(problem({}, now, 3651 * day), "valid only until");
  t.match(
    certificateProblem(first, servingNames({ name: "x", namespace: "y" }), now, 0),
    "does not name x.y.svc",
  );
});

t.test(
  "a clock that is set back by less than a day changes nothing, by more it ends with one new set",
  async (t) => {
    const server = fakeServer();
    const store = secretStore({ client: server.client, ...secretOptions });
    const made = await store.ensure(now);
    t.strictSame(await store.ensure(now - day + 1000), made);
    const later = await store.ensure(now - 30 * day);
    t.not(later.caCert, made.caCert, "a CA of the future signs nothing");
    t.strictSame(await store.ensure(now - 30 * day), later);
    t.strictSame(await store.ensure(now), later);
  },
);

t.test("the CA is kept while it is good for more than a year", async (t) => {
  t.ok(caIsReusable(first, now));
  t.notOk(caIsReusable(first, now + 3300 * day));
  t.notOk(caIsReusable({ ...first, caKey: "" }, now));
  const renewed = await generateCertificates(names, now, first);
  t.equal(renewed.caCert, first.caCert);
  t.not(renewed.cert, first.cert);
  t.equal(certificateProblem(renewed, names, now, 0), undefined);
});

t.test("CERTS_RENEW_BEFORE", async (t) => {
  t.equal(renewBefore("10d"), 10 * day);
  t.equal(renewBefore("2m"), 60 * day);
  t.equal(renewBefore("1y"), 365 * day);
  for (const bad of [undefined, "", "5", "5h", "xd"]) t.equal(renewBefore(bad), 180 * day);
});

t.test("files are for the owner only and change together", async (t) => {
  const directory = join(t.testdir({}), "certs");
  await writeCertificateDirectory(directory, first, "1");
  t.strictSame(await readCertificateDirectory(directory), first);
  for (const name of Object.keys(certificateFiles(first))) {
    t.equal((await stat(join(directory, name))).mode & 0o777, 0o600);
  }
  const second = { ...first, cert: "other", key: "other" };
  await writeCertificateDirectory(directory, second, "2");
  t.strictSame(await readCertificateDirectory(directory), second);
  t.equal(await readFile(join(directory, "tls.crt"), "utf8"), "other");
  const hidden = (await readdir(directory)).filter((name) => name.startsWith(".."));
  t.strictSame(hidden.sort(), ["..2", "..data"], "the old version is gone");
  await writeCertificateDirectory(directory, second, "3");
  t.ok((await readdir(directory)).includes("..2"), "equal files are not written again");
});

t.test("a directory or a file that others could change is refused", async (t) => {
  const directory = join(t.testdir({}), "certs");
  const store = directoryStore({ directory, names, renewBeforeMs: 0, generate: generateCertificates });
  await writeCertificateDirectory(directory, first, "1");
  await chmod(join(directory, "ca-key.pem"), 0o666);
  await t.rejects(store.ensure(now), { code: "Config", message: /ca-key.pem .*others may write/ });
  await chmod(join(directory, "ca-key.pem"), 0o600);
  t.strictSame(await store.ensure(now), first);
  await chmod(directory, 0o777);
  await t.rejects(store.ensure(now), { code: "Config", message: /certs .*others may write/ });
  await t.rejects(writeCertificateDirectory(directory, first, "2"), { code: "Config" });
});

t.test("a directory that a crash left half written is put right", async (t) => {
  const directory = t.testdir({ "..9": { "cert.pem": "x" }, "cert.pem": "plain" });
  await writeFile(join(directory, "key.pem"), "plain");
  await writeCertificateDirectory(directory, first, "10");
  t.strictSame(await readCertificateDirectory(directory), first);
  t.notOk((await readdir(directory)).includes("..9"));
});

t.test("the first replica creates the Secret with its six keys, the next one reads it", async (t) => {
  const server = fakeServer();
  const { client } = server;
  const made = await secretStore({ client, ...secretOptions }).ensure(now);
  const secret = await client.get(secrets, ref);
  t.strictSame(Object.keys(secret.data ?? {}).sort(), [
    "ca-cert.pem",
    "ca-key.pem",
    "cert.pem",
    "key.pem",
    "tls.crt",
    "tls.key",
  ]);
  t.equal(secret.data?.["tls.key"], encode(made.key));
  t.strictSame(await secretStore({ client, ...secretOptions }).ensure(now), made);
  t.strictSame(server.writes, [`create secrets ${key}`]);
});

t.test("replicas that start together end with one set", async (t) => {
  const server = fakeServer();
  const { client } = server;
  const stores = [1, 2, 3].map(() => secretStore({ client, ...secretOptions }));
  const sets = await Promise.all(stores.map((store) => store.ensure(now)));
  t.equal(new Set(sets.map((set) => set.cert)).size, 1);
});

t.test("an invalid Secret is replaced, under its version, and the CA kept", async (t) => {
  const server = fakeServer();
  const { client } = server;
  const files = Object.entries({ ...certificateFiles(first), "cert.pem": "broken" });
  const data = Object.fromEntries(files.map(([name, text]) => [name, encode(text)]));
  await client.create(secrets, ref.namespace, { metadata: { name: ref.name }, type: "Opaque", data });
  const made = await secretStore({ client, ...secretOptions }).ensure(now);
  t.equal(made.caCert, first.caCert);
  t.strictSame(server.writes, [`create secrets ${key}`, `replace secrets ${key}`]);
});

t.test("a certificate is renewed before its end", async (t) => {
  const server = fakeServer();
  const { client } = server;
  const store = secretStore({ client, ...secretOptions });
  const made = await store.ensure(now);
  t.equal((await store.ensure(now + 3400 * day)).cert, made.cert);
  t.not((await store.ensure(now + 3500 * day)).cert, made.cert);
});

t.test("fs mode keeps to its directory", async (t) => {
  const directory = join(t.testdir({}), "certs");
  const store = directoryStore({ directory, names, renewBeforeMs: 0, generate: generateCertificates });
  const made = await store.ensure(now);
  t.strictSame(await store.ensure(now), made);
  t.strictSame(await readCertificateDirectory(directory), made);
});

t.test("external certificates are read, never written, and must name the service", async (t) => {
  const server = fakeServer();
  const { client } = server;
  const data = {
    "ca.crt": encode(first.caCert),
    "ca.key": "",
    "tls.crt": encode(first.cert),
    "tls.key": encode(first.key),
  };
  const store = externalStore({ client, ...ref, names });
  await t.rejects(store.ensure(now), { code: "NotFound" });
  await client.create(secrets, ref.namespace, { metadata: { name: ref.name }, data });
  t.equal((await store.ensure(now)).cert, first.cert);
  const wrong = externalStore({ client, ...ref, names: servingNames({ name: "other", namespace: "x" }) });
  await t.rejects(
    wrong.ensure(now),
    /external certificates in secret kruise-system\/kruise-webhook-certs: the certificate does not name other\.x\.svc/,
  );
  t.strictSame(server.writes, [`create secrets ${key}`]);
});
