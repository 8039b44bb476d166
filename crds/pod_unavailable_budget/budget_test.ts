import t from "tap";
import {
  compileSelector,
  formatFieldErrors,
  type JsonObject,
  type LabelSelector,
} from "../../kube/core/index.ts";
import { convertPodUnavailableBudget } from "./convert.ts";
import type { PodUnavailableBudget } from "./schema.ts";
import { selectorsOverlap } from "./selector_overlap.ts";
import { validatePodUnavailableBudget } from "./validate.ts";

const selector = { matchLabels: { app: "web" } };

function alpha(annotations: JsonObject, spec: JsonObject = { selector, maxUnavailable: 1 }): JsonObject {
  return {
    apiVersion: "policy.kruise.io/v1alpha1",
    kind: "PodUnavailableBudget",
    metadata: { name: "web", annotations },
    spec,
  };
}

t.test("annotations become fields, and back", async (t) => {
  const annotations = {
    "kruise.io/pub-protect-operations": "EVICT, DELETE,",
    "pub.kruise.io/protect-total-replicas": "5",
    other: "x",
  };
  const beta = convertPodUnavailableBudget(alpha(annotations), "v1beta1");
  t.match(beta, {
    apiVersion: "policy.kruise.io/v1beta1",
    metadata: { annotations },
    spec: { selector, maxUnavailable: 1, protectOperations: ["EVICT", "DELETE"], protectTotalReplicas: 5 },
  });
  const ignoredPodSelector = { matchLabels: { force: "yes" } };
  const changed = {
    ...beta,
    spec: { selector, maxUnavailable: 1, protectOperations: ["UPDATE", "RESIZE"], ignoredPodSelector },
  };
  const back = convertPodUnavailableBudget(changed, "v1alpha1");
  t.match(back, {
    metadata: { annotations: { "kruise.io/pub-protect-operations": "UPDATE,RESIZE", other: "x" } },
  });
  t.same(back["spec"], { selector, maxUnavailable: 1 });
  t.notMatch(JSON.stringify(back), /protect-total-replicas/);
  t.same(convertPodUnavailableBudget(back, "v1beta1")["spec"], changed.spec, "nothing is lost on the way");
});

t.test("annotations that cannot be read are errors", async (t) => {
  const convert = (annotations: JsonObject) => () =>
    convertPodUnavailableBudget(alpha(annotations), "v1beta1");
  t.throws(convert({ "kruise.io/pub-protect-operations": "EVICT,MOVE" }), {
    message: 'invalid kruise.io/pub-protect-operations value "MOVE"',
  });
  t.throws(convert({ "pub.kruise.io/protect-total-replicas": "many" }), {
    message: /^failed to parse pub\.kruise\.io\/protect-total-replicas: /,
  });
});

type Spec = PodUnavailableBudget["spec"];

function errors(
  spec: Spec,
  more: { old?: Spec; others?: PodUnavailableBudget[]; annotations?: Record<string, string> } = {},
) {
  const { old, others = [], annotations = {} } = more;
  const metadata = { name: "web", annotations };
  const before = old === undefined ? undefined : { metadata, spec: old };
  return formatFieldErrors(validatePodUnavailableBudget({ metadata, spec }, before, others));
}

const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };

t.test("what is refused, in the API's words", async (t) => {
  t.equal(errors({ selector, maxUnavailable: "10%" }), "");
  t.equal(errors({ targetRef, minAvailable: 0 }), "");
  const both = "spec.selector, targetRef: Required value:";
  t.equal(errors({ maxUnavailable: 1 }), `${both} no selector or targetRef defined in PodUnavailableBudget`);
  t.equal(
    errors({ selector, targetRef, maxUnavailable: 1 }),
    `${both} selector and targetRef are mutually exclusive`,
  );
  t.match(
    errors({ targetRef: { ...targetRef, name: "" }, maxUnavailable: 1 }),
    /^spec\.targetRef: Invalid value: .*: empty targetRef is not valid for PodUnavailableBudget$/,
  );
  t.match(
    errors({ selector: {}, maxUnavailable: 1 }),
    /^spec\.selector: Invalid value: .*: empty selector is not valid for PodUnavailableBudget\.$/,
  );
  const amounts = "spec.maxUnavailable, minAvailable: Required value:";
  t.equal(
    errors({ selector }),
    `${amounts} no maxUnavailable or minAvailable defined in PodUnavailableBudget`,
  );
  t.equal(
    errors({ selector, maxUnavailable: 1, minAvailable: 1 }),
    `${amounts} maxUnavailable and minAvailable are mutually exclusive`,
  );
  t.match(
    errors({ selector, maxUnavailable: -1 }),
    /^spec\.maxUnavailable: Invalid value: -1: must be greater than or equal to 0$/,
  );
  t.match(
    errors({ selector, minAvailable: "5" }),
    /^spec\.minAvailable: Invalid value: "5": a valid percent string/,
  );
  t.match(errors({ selector, minAvailable: "101%" }), /must not be greater than 100%$/);
  t.match(
    errors({ selector, maxUnavailable: 1, ignoredPodSelector: {} }),
    /empty ignoredPodSelector is not valid for PodUnavailableBudget$/,
  );
});

t.test("totals, changes and conflicts", async (t) => {
  const annotations = { "pub.kruise.io/protect-total-replicas": "5" };
  const spec = { selector, maxUnavailable: 1 };
  t.equal(errors({ ...spec, protectTotalReplicas: 5 }, { annotations }), "");
  t.match(
    errors({ ...spec, protectTotalReplicas: 6 }, { annotations }),
    /must match spec\.protectTotalReplicas when both are set$/,
  );
  t.match(
    errors(spec, { annotations: { "pub.kruise.io/protect-total-replicas": "x" } }),
    /must be a valid int32$/,
  );
  t.equal(
    errors(spec, { old: { targetRef, maxUnavailable: 1 } }),
    "spec.selector, targetRef: Required value: selector and targetRef cannot be modified",
  );
  t.equal(errors({ ...spec, maxUnavailable: 2 }, { old: spec }), "");
  const other = (theirs: Spec): PodUnavailableBudget[] => [{ metadata: { name: "other" }, spec: theirs }];
  const target = { targetRef, maxUnavailable: 1 };
  t.match(
    errors(target, {
      others: other({ targetRef: { ...targetRef, apiVersion: "apps/v1beta2" }, minAvailable: 1 }),
    }),
    /^spec\.targetReference: Invalid value: .*: pub\.spec\.targetReference is in conflict with other PodUnavailableBudget other$/,
  );
  t.match(
    errors(spec, { others: other(spec) }),
    /^spec\.selector: .*: pub\.spec\.selector is in conflict with other PodUnavailableBudget other$/,
  );
  t.equal(errors(spec, { others: other(target) }), "");
});

t.test("overlapping selectors, loosely", async (t) => {
  const overlap = (a: LabelSelector, b: LabelSelector) =>
    selectorsOverlap(compileSelector(a), compileSelector(b));
  const term = (
    operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
    ...values: string[]
  ): LabelSelector => ({
    matchExpressions: [{ key: "app", operator, ...(values.length === 0 ? {} : { values }) }],
  });
  t.equal(overlap(selector, term("In", "web", "api")), true);
  t.equal(overlap(selector, term("In", "api")), false);
  t.equal(overlap(selector, { matchLabels: { app: "web", tier: "1" } }), false, "other keys");
  t.equal(overlap(term("In", "a", "b"), term("NotIn", "a")), true);
  t.equal(overlap(term("NotIn", "a", "b"), term("In", "a")), false);
  t.equal(overlap(term("Exists"), term("In", "a")), true);
  t.equal(overlap(term("Exists"), term("DoesNotExist")), false);
  t.equal(overlap(term("DoesNotExist"), term("NotIn", "a")), true);
  t.equal(overlap(term("DoesNotExist"), term("In", "a")), false);
});
