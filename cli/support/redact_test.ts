import fc from "fast-check";
import t from "tap";
import { redacted, redactedText } from "./redact.ts";

const secret = "s3cr3t-VALUE";

/** Where a user may have put a secret. */
const hiding: readonly object[] = [
  { env: [{ name: "A", value: secret }] },
  { kind: "Secret", data: { a: secret }, stringData: { b: secret } },
  { kind: "ConfigMap", metadata: { name: "a" }, data: { a: secret }, binaryData: { b: secret } },
  { metadata: { annotations: { "example.com/note": secret, plain: secret } } },
  {
    metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": `{"env":"${secret}"}` } },
  },
  { args: [`--password=${secret}`, "--token", secret] },
  { exec: { command: ["curl", `--api-token=${secret}`] } },
  { httpGet: { httpHeaders: [{ name: "Authorization", value: secret }] } },
  { password: secret, clientKey: secret },
  { message: `sent Bearer ${secret} to https://user:${secret}@example.com/` },
];

const plain = fc.jsonValue({ maxDepth: 2, noUnicodeString: true });
const tree = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom(...hiding),
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("spec", "template", "containers", "resource", "items"), tie("tree"), {
      maxKeys: 3,
    }),
    plain,
  ),
})).tree;

t.test("a secret never shows, however deep it is and whatever is around it", (t) => {
  fc.assert(
    fc.property(tree, (object) => !JSON.stringify(redacted(object) ?? null).includes(secret)),
    { numRuns: 5_000, seed: 16 },
  );
  for (const object of hiding) t.notMatch(JSON.stringify(redacted({ items: [object] })), secret);
  t.end();
});

t.test("what is no secret stays as it is", (t) => {
  const object = {
    kind: "CloneSet",
    metadata: {
      name: "a",
      annotations: { "apps.kruise.io/x": "1", "deployment.kubernetes.io/revision": "2" },
    },
    spec: {
      template: {
        spec: {
          automountServiceAccountToken: true,
          imagePullSecrets: [{ name: "pull" }],
          containers: [
            {
              name: "a",
              image: "a:1",
              command: ["run", "--port=80", "--verbose"],
              env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
            },
          ],
        },
      },
    },
  };
  t.strictSame(redacted(object), object);
  const configuration = { kind: "ConfigMap", metadata: { name: "kruise-configuration" }, data: { a: "b" } };
  t.strictSame(redacted(configuration), configuration);
  fc.assert(
    fc.property(
      fc.array(fc.nat()),
      (list) => JSON.stringify(redacted({ list })) === JSON.stringify({ list }),
    ),
    { numRuns: 200, seed: 16 },
  );
  t.equal(redactedText("GET https://10.0.0.1:443/api?x=a@b"), "GET https://10.0.0.1:443/api?x=a@b");
  t.end();
});
