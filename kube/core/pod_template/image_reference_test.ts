import fc from "fast-check";
import t from "tap";
import { familiarImage } from "./image_reference.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

t.test("familiarImage() gives the short name and the tag or digest", async (t) => {
  const cases: [string, string, string][] = [
    ["nginx", "nginx", "latest"],
    ["nginx:1.9.1", "nginx", "1.9.1"],
    ["docker.io/library/nginx:1.9.1", "nginx", "1.9.1"],
    ["index.docker.io/nginx", "nginx", "latest"],
    ["library/nginx", "nginx", "latest"],
    ["docker.io/acme/app", "acme/app", "latest"],
    ["acme/app:v1", "acme/app", "v1"],
    ["reg.io/a/b:1", "reg.io/a/b", "1"],
    ["localhost/a:1", "localhost/a", "1"],
    ["127.0.0.1:5000/busybox", "127.0.0.1:5000/busybox", "latest"],
    ["reg.io:443/library/nginx:1", "reg.io:443/library/nginx", "1"],
    ["constructor", "constructor", "latest"],
    [`nginx@${digest}`, "nginx", digest],
    [`nginx:1.21@${digest}`, "nginx", digest],
  ];
  for (const [image, name, tag] of cases) t.same(familiarImage(image), { name, tag }, image);
});

t.test("familiarImage() refuses what no container tool takes, in its words", async (t) => {
  const cases: [string, string][] = [
    ["", "invalid reference format"],
    ["nginx:", "invalid reference format"],
    ["nginx latest", "invalid reference format"],
    ["../../etc/passwd", "invalid reference format"],
    ["nginx;rm -rf /", "invalid reference format"],
    ["https://reg.io/a", "invalid reference format"],
    ["Nginx", "invalid reference format: repository name (library/Nginx) must be lowercase"],
    ["reg.io/App:v1", "invalid reference format: repository name (App) must be lowercase"],
    ["nginx@sha256:12", "invalid reference format"],
    [`nginx@sha256:${"ab".repeat(20)}`, "invalid checksum digest length"],
    [`nginx@md5:${"ab".repeat(16)}`, "unsupported digest algorithm"],
    [`reg.io/${"a".repeat(260)}`, "repository name must not be more than 255 characters"],
    [
      "a".repeat(64),
      `invalid repository name (${"a".repeat(64)}), cannot specify 64-byte hexadecimal strings`,
    ],
  ];
  for (const [image, message] of cases) t.throws(() => familiarImage(image), { message }, image);
});

t.test("property: a familiar name is its own familiar name", async (t) => {
  const part = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const images = fc.tuple(
    fc.option(fc.constantFrom("reg.io", "docker.io", "localhost:5000", "index.docker.io", "library")),
    fc.array(part, { minLength: 1, maxLength: 3 }),
    fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,10}$/)),
  );
  fc.assert(
    fc.property(images, ([host, path, tag]) => {
      const { name, tag: found } = familiarImage(
        `${host === null ? "" : `${host}/`}${path.join("/")}${tag === null ? "" : `:${tag}`}`,
      );
      const again = familiarImage(`${name}:${found}`);
      return again.name === name && again.tag === found;
    }),
    { seed: 48, numRuns: 500 },
  );
  t.pass("held in all runs");
});
