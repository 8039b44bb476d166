import t from "tap";
import { envHash, fnv32, fnv32a, goJson, goQuote, jsonTextHash, plainHash, safeEncode } from "./index.ts";

t.test("FNV-1 and FNV-1a", (t) => {
  t.equal(fnv32(""), 2166136261);
  t.equal(fnv32("foobar"), 0x31f0b262);
  t.equal(fnv32a("foobar"), 0xbf9cf968);
  t.end();
});

t.test("digits are encoded safely (rule 37)", (t) => {
  t.equal(safeEncode("0123456789"), "456789bcdf");
  t.equal(safeEncode("808096168"), "d4d4fb5bd");
  t.end();
});

t.test("the golden revision hash", (t) => {
  const data = (image: string) =>
    `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"sample"}},"spec":{"containers":[{"image":"${image}","imagePullPolicy":"Always","name":"nginx","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`;
  t.equal(fnv32(`${data("nginx:alpine")}0`), 808096168);
  t.equal(safeEncode(String(fnv32(`${data("nginx:mainline")}0`))), "56dfb978d4");
  t.end();
});

t.test("hashes of environments, containers and claims (rules 24, 25, 41)", (t) => {
  t.equal(envHash([]), 86995377);
  t.equal(envHash([{ name: "TEST_ENV", value: "foo" }]), 27323935);
  t.equal(envHash([{ name: "TEST_ENV", value: "bar" }]), 3944769931);
  t.equal(envHash([{ name: "B", value: "" }, { name: "A" }]), jsonTextHash('[{"name":"A"},{"name":"B"}]'));
  t.equal(plainHash("nginx", "nginx:alpine"), 1281589684);
  t.equal(
    jsonTextHash(
      '[{"metadata":{"name":"pvc-1","creationTimestamp":null},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"limits":{"storage":"2Gi"},"requests":{"storage":"1Gi"}}},"status":{}}]',
    ),
    1129974074,
  );
  t.end();
});

t.test("JSON as Go writes it", (t) => {
  t.equal(
    goJson({ b: "<&>\u2028\u0001\n", a: undefined, c: [null, true, 1.5] }),
    '{"b":"\\u003c\\u0026\\u003e\\u2028\\u0001\\n","c":[null,true,1.5]}',
  );
  t.equal(goJson({ b: { d: 1, c: 2 }, a: [] }, { sortKeys: true }), '{"a":[],"b":{"c":2,"d":1}}');
  t.equal(
    goJson({ "\u{1f600}": 1, "\ufb01": 2, z: 3 }, { sortKeys: true }),
    '{"z":3,"\ufb01":2,"\u{1f600}":1}',
  );
  t.equal(goQuote('a"\\\n\u0007\u0000\u200bé'), '"a\\"\\\\\\n\\a\\x00\\u200bé"');
  t.end();
});
