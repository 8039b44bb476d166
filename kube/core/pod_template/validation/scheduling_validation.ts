/** Where a pod may run: affinity, tolerations, spreading, gates. */
import { duplicate } from "../../field_errors.ts";
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from "../../names.ts";
import { validatePodSelector } from "../../selector.ts";
import type { Cursor } from "./cursor.ts";
import { selectorInput } from "./selector_input.ts";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

export function validateAffinity(spec: Cursor): void {
  const affinity = spec.object("affinity");
  const node = affinity?.object("nodeAffinity");
  const needed = node?.object(REQUIRED);
  if (needed !== undefined) {
    const terms = needed.objects("nodeSelectorTerms");
    if (terms.length === 0) needed.required("nodeSelectorTerms", "must have at least one node selector term");
    for (const term of terms) validateNodeTerm(term);
  }
  for (const wanted of node?.objects(PREFERRED) ?? []) {
    validateWeight(wanted);
    const term = wanted.object("preference");
    if (term !== undefined) validateNodeTerm(term);
  }
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const pods = affinity?.object(kind);
    for (const term of pods?.objects(REQUIRED) ?? []) validatePodTerm(term);
    for (const wanted of pods?.objects(PREFERRED) ?? []) {
      validateWeight(wanted);
      const term = wanted.object("podAffinityTerm");
      if (term !== undefined) validatePodTerm(term);
      else wanted.required("podAffinityTerm.topologyKey", "can not be empty");
    }
  }
}

function validateWeight(term: Cursor): void {
  const weight = term.number("weight") ?? 0;
  if (weight <= 0 || weight > 100) term.invalid("weight", weight, "must be in the range 1-100");
}

function validateNodeTerm(term: Cursor): void {
  for (const expression of term.objects("matchExpressions")) {
    validateNodeExpression(expression);
    expression.follows("key", qualifiedNameErrors);
  }
  for (const field of term.objects("matchFields")) validateNodeField(field);
}

function validateNodeExpression(expression: Cursor): void {
  const count = expression.list("values").length;
  const operator = expression.text("operator");
  if (operator === "In" || operator === "NotIn") {
    if (count === 0) expression.required("values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (count > 0) expression.forbidden("values", detail);
  } else if (operator === "Gt" || operator === "Lt") {
    if (count !== 1)
      expression.required("values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    expression.invalid("operator", operator, "not a valid selector operator");
  }
}

function validateNodeField(field: Cursor): void {
  const operator = field.text("operator");
  if (operator !== "In" && operator !== "NotIn") {
    field.invalid("operator", operator, "not a valid selector operator");
  } else if (field.list("values").length !== 1) {
    field.required(
      "values",
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  }
  if (field.text("key") !== "metadata.name") {
    field.invalid("key", field.text("key"), "not a valid field selector key");
    return;
  }
  field.complainEach("values", field.texts("values"), dnsSubdomainErrors);
}

function validatePodTerm(term: Cursor): void {
  for (const key of ["labelSelector", "namespaceSelector"]) {
    term.add(...validatePodSelector(selectorInput(term.object(key)), term.at(key)));
  }
  for (const name of term.texts("namespaces")) term.complain("namespace", name, dnsLabelErrors(name));
  validateLabelKeys(term);
  term.needsText("topologyKey", "can not be empty");
  term.follows("topologyKey", qualifiedNameErrors);
}

/** matchLabelKeys and mismatchLabelKeys, which extend a selector and must not contradict it. */
function validateLabelKeys(term: Cursor): void {
  const selector = term.object("labelSelector");
  for (const key of ["matchLabelKeys", "mismatchLabelKeys"]) {
    const names = term.texts(key);
    if (names.length === 0) continue;
    if (selector === undefined) term.forbidden(key, "must not be specified when labelSelector is not set");
    else term.complainEach(key, names, qualifiedNameErrors);
  }
  const matching = term.texts("matchLabelKeys");
  const seen = new Set(Object.keys(selector?.object("matchLabels")?.value ?? {}));
  for (const expression of selector?.objects("matchExpressions") ?? []) {
    const key = expression.text("key");
    const index = matching.lastIndexOf(key);
    if (index >= 0 && seen.has(key)) {
      const path = `${term.path}[${index}]`;
      const detail = "exists in both matchLabelKeys and labelSelector";
      term.add({ path, type: "Invalid", value: key, detail });
    }
    seen.add(key);
  }
  const mismatching = new Set(term.texts("mismatchLabelKeys"));
  matching.forEach((key, index) => {
    if (!mismatching.has(key)) return;
    term.invalid(`matchLabelKeys[${index}]`, key, "exists in both matchLabelKeys and mismatchLabelKeys");
  });
}

export function validateSpread(spec: Cursor): void {
  const constraints = spec.objects("topologySpreadConstraints");
  // All but the last of those with the same pair are complained of.
  const last = new Map(constraints.map((constraint, index) => [spreadKey(constraint), index]));
  constraints.forEach((constraint, index) => {
    const skew = constraint.number("maxSkew") ?? 0;
    if (skew <= 0) constraint.invalid("maxSkew", skew, "must be greater than zero");
    constraint.needsText("topologyKey", "can not be empty");
    const action = constraint.text("whenUnsatisfiable");
    constraint.oneOf("whenUnsatisfiable", ["DoNotSchedule", "ScheduleAnyway"]);
    const key = constraint.text("topologyKey");
    if (last.get(spreadKey(constraint)) !== index) {
      constraint.add(duplicate(constraint.at("{topologyKey, whenUnsatisfiable}"), `{${key}, ${action}}`));
    }
    const domains = constraint.number("minDomains");
    if (domains !== undefined) {
      if (domains <= 0) constraint.invalid("minDomains", domains, "must be greater than zero");
      const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
      if (action !== "DoNotSchedule") constraint.invalid("minDomains", domains, detail);
    }
    for (const policy of ["nodeAffinityPolicy", "nodeTaintsPolicy"]) {
      constraint.choice(policy, ["Honor", "Ignore"]);
    }
    validateLabelKeys(constraint);
    const selector = selectorInput(constraint.object("labelSelector"));
    constraint.add(...validatePodSelector(selector, constraint.at("labelSelector")));
  });
}

function spreadKey(constraint: Cursor): string {
  return JSON.stringify([constraint.text("topologyKey"), constraint.text("whenUnsatisfiable")]);
}

export function validateTolerations(spec: Cursor): void {
  for (const toleration of spec.objects("tolerations")) {
    const key = toleration.text("key");
    const operator = toleration.text("operator");
    const value = toleration.text("value");
    if (key !== "") toleration.complain("key", key, qualifiedNameErrors(key));
    else if (operator !== "Exists") {
      const detail =
        'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      toleration.invalid("operator", operator, detail);
    }
    if (toleration.has("tolerationSeconds") && toleration.text("effect") !== "NoExecute") {
      const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
      toleration.invalid("effect", toleration.text("effect"), detail);
    }
    if (operator === "" || operator === "Equal") {
      const complaints = labelValueErrors(value);
      if (complaints.length > 0) toleration.invalid("operator", value, complaints.join(";"));
    } else if (operator === "Exists") {
      if (value !== "")
        toleration.invalid("operator", value, "value must be empty when `operator` is 'Exists'");
    } else {
      toleration.choice("operator", ["Equal", "Exists"]);
    }
    toleration.choice("effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"]);
  }
}

export function validateGates(spec: Cursor): void {
  for (const gate of spec.objects("readinessGates")) {
    gate.follows("conditionType", qualifiedNameErrors);
  }
  const seen = new Set<string>();
  for (const gate of spec.objects("schedulingGates")) {
    const name = gate.text("name");
    gate.complain("", name, qualifiedNameErrors(name));
    if (seen.has(name)) gate.duplicate("", name);
    seen.add(name);
  }
}
