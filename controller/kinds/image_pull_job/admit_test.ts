import t from "tap";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import type { AdmissionHandler, AdmissionRequest } from "../../runtime/admission/request.ts";
import { type FeatureGates, parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { imageListPullJobWebhooks } from "../image_list_pull_job/admit.ts";
import { nodeImageWebhooks } from "../node_image/admit.ts";
import { imagePullJobWebhooks } from "./admit.ts";

const validating = (webhooks: typeof nodeImageWebhooks) => (gates: FeatureGates) =>
  handlerOf(webhooks, "validating", { options: controllerOptions({ gates }) });
const validateImagePullJob = validating(imagePullJobWebhooks);
const validateImageListPullJob = validating(imageListPullJobWebhooks);
const validateNodeImage = validating(nodeImageWebhooks);
const mutateImagePullJob = handlerOf(imagePullJobWebhooks, "mutating");
const mutateImageListPullJob = handlerOf(imageListPullJobWebhooks, "mutating");
const mutateNodeImage = handlerOf(nodeImageWebhooks, "mutating", { clock: testClock() });

const gates = parseFeatureGates("ImagePullJobGate=true");

function request(kind: string, object: JsonObject, over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const apiVersion = `apps.kruise.io/${over.version ?? "v1beta1"}`;
  return admissionRequest({
    operation: "CREATE",
    namespace: "ns",
    ...over,
    object: { apiVersion, kind, metadata: { name: "x" }, ...object },
  });
}

async function defaulted(handler: AdmissionHandler, asked: AdmissionRequest): Promise<JsonObject> {
  const answer = await handler(asked);
  if (!answer.allowed) throw new Error(answer.message);
  const patched: unknown = applyJsonPatch(asked.object ?? {}, answer.patch ?? []);
  return Object(patched);
}

const spec = (over: object) => ({
  spec: { image: "nginx:1", completionPolicy: { type: "Always" }, ...over },
});

t.test("a pull job gets its defaults, and the finalizer when it is new", async (t) => {
  for (const version of ["v1alpha1", "v1beta1"]) {
    const bare = request("ImagePullJob", { spec: { image: "nginx" } }, { version });
    const found = await defaulted(mutateImagePullJob, bare);
    t.same(found["spec"], {
      image: "nginx",
      completionPolicy: { type: "Always" },
      pullPolicy: { timeoutSeconds: 600, backoffLimit: 3 },
      imagePullPolicy: "IfNotPresent",
    });
    t.same(found["metadata"], { name: "x", finalizers: ["apps.kruise.io/deletion-protection"] });
    const updated = request("ImagePullJob", spec({}), { operation: "UPDATE", version });
    t.same((await defaulted(mutateImagePullJob, updated))["metadata"], { name: "x" });
  }
});

t.test("pull jobs that cannot be meant are refused in the API's words", async (t) => {
  const cases: [object, string][] = [
    [
      { selector: { names: ["a"], matchLabels: { a: "b" } } },
      "can not set both names and labelSelector in this spec.selector",
    ],
    [{ selector: { names: ["a", "a"] } }, "duplicated name in selector names"],
    [{ selector: { names: ["a"] }, podSelector: {} }, "can not set both selector and podSelector"],
    [{ image: "" }, "image can not be empty"],
    [{ image: "a b" }, "invalid image a b: invalid reference format"],
    [{ parallelism: "10%" }, "parallelism does not support percentage value"],
    [{ parallelism: "x" }, 'parallelism must be a valid integer: strconv.Atoi: parsing "x": invalid syntax'],
    [{ parallelism: -1 }, "parallelism must be non-negative"],
    [
      { completionPolicy: { type: "Always", activeDeadlineSeconds: 599 } },
      "completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(default 600)",
    ],
    [
      { completionPolicy: { type: "Never", activeDeadlineSeconds: 1 } },
      "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType",
    ],
    [{ completionPolicy: { type: "Often" } }, "unknown type of completionPolicy: Often"],
  ];
  for (const [over, message] of cases) {
    const answer = await validateImagePullJob(gates)(request("ImagePullJob", spec(over)));
    t.same(answer, { allowed: false, code: 400, message }, message);
  }
  const selector = { matchExpressions: [{ key: "a", operator: "Some" }] };
  t.match(await validateImagePullJob(gates)(request("ImagePullJob", spec({ selector }))), {
    code: 400,
    message: /^invalid selector: /,
  });
  t.match(await validateImagePullJob(gates)(request("ImagePullJob", spec({ podSelector: selector }))), {
    message: /^invalid podSelector: /,
  });
  t.match(await validateImagePullJob(gates)(request("ImagePullJob", spec({ image: 5 }))), {
    code: 400,
    message: /spec\.image/,
  });
});

t.test("what is at the edge is accepted", async (t) => {
  const edges = [
    { completionPolicy: { type: "Always", activeDeadlineSeconds: 600 } },
    { pullPolicy: { timeoutSeconds: 5 }, completionPolicy: { type: "Always", activeDeadlineSeconds: 10 } },
    { parallelism: 0 },
    { parallelism: "4" },
    { selector: {} },
  ];
  for (const edge of edges) {
    t.equal((await validateImagePullJob(gates)(request("ImagePullJob", spec(edge)))).allowed, true);
  }
});

t.test("pull secrets stay, whatever else changes", async (t) => {
  const update = (before: object, after: object) => {
    const oldObject = request("ImagePullJob", spec(before)).object;
    return validateImagePullJob(gates)(
      request("ImagePullJob", spec(after), { operation: "UPDATE", oldObject }),
    );
  };
  t.same(await update({ pullSecrets: ["a"] }, { pullSecrets: ["b"] }), {
    allowed: false,
    code: 403,
    message: "spec.pullSecrets is immutable",
  });
  t.equal((await update({ pullSecrets: [] }, { parallelism: 3 })).allowed, true);
});

t.test("gates refuse, but let go what is being deleted", async (t) => {
  const off = await validateImagePullJob(parseFeatureGates())(request("ImagePullJob", spec({})));
  t.same(off, { allowed: false, code: 403, message: "feature-gate ImagePullJobGate is not enabled" });
  const noAgent = parseFeatureGates("KruiseDaemon=false");
  const list = { spec: { images: ["a"], completionPolicy: { type: "Always" } } };
  for (const answer of [
    await validateImageListPullJob(noAgent)(request("ImageListPullJob", list)),
    await validateNodeImage(noAgent)(request("NodeImage", {})),
  ]) {
    t.match(answer, { code: 403, message: "feature-gate KruiseDaemon is not enabled" });
  }
  const oldObject = { metadata: { name: "x", deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const going = request("ImagePullJob", spec({}), { operation: "UPDATE", oldObject });
  t.equal((await validateImagePullJob(noAgent)(going)).allowed, true);
});

t.test("lists of images", async (t) => {
  const found = await defaulted(
    mutateImageListPullJob,
    request("ImageListPullJob", { spec: { images: ["a"] } }),
  );
  t.same(found["spec"], {
    images: ["a"],
    completionPolicy: { type: "Always" },
    pullPolicy: { timeoutSeconds: 600, backoffLimit: 3 },
  });
  const refused = async (over: object) => {
    const object = { spec: { images: ["a"], completionPolicy: { type: "Always" }, ...over } };
    const answer = await validateImageListPullJob(gates)(request("ImageListPullJob", object));
    return answer.allowed ? "" : answer.message;
  };
  t.equal(await refused({}), "");
  t.equal(await refused({ images: [] }), "image can not be empty");
  t.equal(await refused({ images: ["a", "a"] }), "images cannot have duplicate values");
  t.equal(
    await refused({ images: ["A"] }),
    "invalid image A: invalid reference format: repository name (library/A) must be lowercase",
  );
  const many = Array.from({ length: 256 }, (_, index) => `a${index}`);
  t.equal(await refused({ images: many }), "the maximum number of images cannot > 255");
  t.equal(
    await refused({ images: many.slice(1), completionPolicy: { type: "Always", activeDeadlineSeconds: 1 } }),
    "",
  );
});

t.test("tags in a NodeImage get times and limits, and are refused without a time to live", async (t) => {
  const tags = (tag: object) => ({ spec: { images: { ubuntu: { tags: [tag] } } } });
  const asked = request("NodeImage", tags({ tag: "latest", pullPolicy: { ttlSecondsAfterFinished: 300 } }));
  const found = await defaulted(mutateNodeImage, asked);
  t.match(
    found,
    tags({
      tag: "latest",
      createdAt: "2026-01-01T00:00:00Z",
      pullPolicy: { ttlSecondsAfterFinished: 300, timeoutSeconds: 600, backoffLimit: 3 },
    }),
  );
  const refused = async (object: JsonObject) => {
    const answer = await validateNodeImage(gates)(request("NodeImage", object));
    return answer.allowed ? "" : answer.message;
  };
  const whole = { tag: "1", createdAt: "2026-01-01T00:00:00Z", pullPolicy: { ttlSecondsAfterFinished: 1 } };
  t.equal(await refused(tags(whole)), "");
  t.equal(await refused(tags({ ...whole, tag: "" })), "tag for image ubuntu can not be empty");
  t.equal(await refused(tags({ ...whole, createdAt: null })), "createAt field for ubuntu/1 can not be empty");
  t.equal(await refused(tags({ ...whole, version: -1 })), "version for ubuntu/1 can not be less than 0");
  t.equal(await refused(tags({ ...whole, pullPolicy: null })), "pullPolicy field for ubuntu/1 must set");
  t.equal(
    await refused(tags({ ...whole, pullPolicy: {} })),
    "pullPolicy.ttlSecondsAfterFinished for ubuntu/1 must set",
  );
  const twice = { spec: { images: { ubuntu: { tags: [whole, whole] } } } };
  t.equal(await refused(twice), "duplicated tag 1 for image ubuntu");
  t.equal(await refused({ spec: { images: { "": { tags: [] } } } }), "image name can not be empty");
  const many = Object.fromEntries(
    Array.from({ length: 257 }, (_, index) => [`a${index}`, { tags: [whole] }]),
  );
  t.equal(await refused({ spec: { images: many } }), "spec images length 257 can not be more than 256");
});

t.test("what is wrong with the stored object hides no other mistake", async (t) => {
  const lifted = async (handler: AdmissionHandler, kind: string, next: JsonObject, old: JsonObject) => {
    const { object } = request(kind, next);
    const { object: oldObject } = request(kind, old);
    const answer = await handler(admissionRequest({ operation: "UPDATE", object, oldObject }));
    return answer.allowed ? "" : answer.message;
  };
  const job = { selector: { names: ["a", "a"] } };
  const pull = (over: object) =>
    lifted(validateImagePullJob(gates), "ImagePullJob", spec({ ...job, ...over }), spec(job));
  t.equal(await pull({}), "");
  t.equal(await pull({ parallelism: 2 }), "");
  t.equal(await pull({ parallelism: -1 }), "parallelism must be non-negative");
  t.equal(await pull({ image: "a b" }), "invalid image a b: invalid reference format");

  const list = (images: string[]) => ({ spec: { images, completionPolicy: { type: "Always" } } });
  const pulls = (images: string[]) =>
    lifted(validateImageListPullJob(gates), "ImageListPullJob", list(images), list(["a b", "c"]));
  t.equal(await pulls(["d", "a b"]), "");
  t.equal(await pulls(["a b", "e f"]), "invalid image e f: invalid reference format");

  const tag = { tag: "1", createdAt: "2026-01-01T00:00:00Z", pullPolicy: { ttlSecondsAfterFinished: 1 } };
  const images = (...tags: object[]) => ({ spec: { images: { nginx: { tags } } } });
  const node = (...tags: object[]) =>
    lifted(validateNodeImage(gates), "NodeImage", images(...tags), images({ ...tag, version: -1 }));
  t.equal(await node({ ...tag, version: -1 }, { ...tag, tag: "2" }), "");
  t.equal(
    await node({ ...tag, version: -1 }, { ...tag, tag: "2", version: -1 }),
    "version for nginx/2 can not be less than 0",
  );
  t.equal(await node({ ...tag, version: -1 }, tag), "duplicated tag 1 for image nginx");
});
