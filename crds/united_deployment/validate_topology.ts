/** What admission refuses in the subsets of a UnitedDeployment. Spec: uniteddeployment 6. */
import {
  dnsLabelErrors,
  type FieldError,
  forbidden,
  goQuote,
  type IntOrString,
  invalid,
  required,
} from "../../kube/core/index.ts";
import { podPartErrors } from "../pod_templates.ts";
import { isGiven } from "../rules.ts";
import type { UnitedDeploymentSpec } from "./schema.ts";
import { shareOf } from "./share.ts";
import { templatesOf } from "./template.ts";

type Subset = NonNullable<NonNullable<UnitedDeploymentSpec["topology"]>["subsets"]>[number];
type Amount = IntOrString | null | undefined;

const path = "spec.topology.subsets";
/** What a subset without a ceiling counts as in the sum of all ceilings. */
const UNLIMITED = 1_000_000;

export function validateTopology(spec: UnitedDeploymentSpec): FieldError[] {
  const subsets = spec.topology?.subsets ?? [];
  return [
    ...validateStrategy(spec),
    ...subsets.flatMap((subset, index) => validateSubset(spec, subset, index)),
    ...validateSums(spec, subsets),
  ];
}

function isAdaptive({ topology }: UnitedDeploymentSpec): boolean {
  return topology?.scheduleStrategy?.type === "Adaptive";
}

function validateStrategy(spec: UnitedDeploymentSpec): FieldError[] {
  const strategy = spec.topology?.scheduleStrategy;
  const reserves = isAdaptive(spec) && strategy?.adaptive?.reserveUnschedulablePods === true;
  const stateful = templatesOf(spec).some(({ name }) => name.toLowerCase().includes("statefulset"));
  if (!reserves || !stateful) return [];
  const words = "only stateless workloads (Deployment and CloneSet) are supported by reserved rescheduling";
  return [invalid("spec.topology.scheduleStrategy", strategy, words)];
}

function validateSubset(spec: UnitedDeploymentSpec, subset: Subset, index: number): FieldError[] {
  const at = `${path}[${index}]`;
  const { name, replicas, minReplicas, maxReplicas } = subset;
  const errors = [...validateName(spec, name, index), ...validateNodes(subset, at)];
  if (isAdaptive(spec) && isGiven(replicas)) {
    const words = "specify replicas use minReplicas/maxReplicas to enable adaptive strategy";
    errors.push(forbidden(`${at}.replicas`, words));
  }
  const amounts = { replicas, minReplicas, maxReplicas };
  for (const [field, value] of Object.entries(amounts))
    errors.push(...validateAmount(`${at}.${field}`, value));
  const total = spec.replicas ?? 1;
  const [min, max] = [shareOf(minReplicas, total), shareOf(maxReplicas, total)];
  if (min !== undefined && max !== undefined && min > max) {
    const words = `subset[${index}].minReplicas must be less than or equal to maxReplicas`;
    errors.push(invalid(`${at}.minReplicas`, minReplicas, words));
  }
  return errors;
}

function validateName({ topology }: UnitedDeploymentSpec, name: string, index: number): FieldError[] {
  const at = `${path}[${index}].name`;
  if (!name) return [required(at)];
  const errors = dnsLabelErrors(name).map((message) =>
    invalid(at, name, `invalid subset name ${goQuote(name)}: ${message}`),
  );
  const first = topology?.subsets?.findIndex((other) => other.name === name) ?? index;
  return first < index ? [...errors, invalid(at, name, `duplicated subset name ${name}`)] : errors;
}

/** As the API server checks a pod that has them. */
function validateNodes({ nodeSelectorTerm, tolerations }: Subset, at: string): FieldError[] {
  const terms = { nodeSelectorTerms: [nodeSelectorTerm] };
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
  const spec = {
    ...(nodeSelectorTerm ? { affinity: { nodeAffinity } } : {}),
    ...(tolerations ? { tolerations } : {}),
  };
  return podPartErrors(spec, at, {
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]":
      "nodeSelectorTerm",
    tolerations: "tolerations",
  });
}

function validateAmount(at: string, value: Amount): FieldError[] {
  if (!isGiven(value)) return [];
  const problem = amountProblem(value);
  return problem === undefined ? [] : [invalid(at, value, `subset replicas (${value}) ${problem}`)];
}

function amountProblem(value: IntOrString): string | undefined {
  if (typeof value === "number") return value < 0 ? "should not be less than 0" : undefined;
  if (!value.endsWith("%")) return "only support integer value or percentage value with a suffix '%'";
  const digits = value.slice(0, -1);
  if (!/^[+-]?\d+$/.test(digits)) {
    const parsing = `strconv.Atoi: parsing ${goQuote(digits)}: invalid syntax`;
    return `should be correct percentage integer: ${parsing}`;
  }
  const percent = Number(digits);
  return percent < 0 || percent > 100 ? "should be in range [0, 100]" : undefined;
}

function validateSums(spec: UnitedDeploymentSpec, subsets: readonly Subset[]): FieldError[] {
  const ranged = subsets.some((subset) => isGiven(subset.minReplicas) || isGiven(subset.maxReplicas));
  const specified = subsets.filter(({ replicas }) => isGiven(replicas));
  if (ranged && specified.length > 0) {
    const words =
      "subset.Replicas and subset.MinReplicas/subset.MaxReplicas are mutually exclusive in a UnitedDeployment";
    return [invalid(path, subsets, words)];
  }
  return ranged ? validateRanges(spec, subsets) : validateShares(spec, subsets, specified);
}

function validateRanges({ replicas }: UnitedDeploymentSpec, subsets: readonly Subset[]): FieldError[] {
  const total = replicas ?? 1;
  const errors: FieldError[] = [];
  if (subsets.every(({ maxReplicas }) => isGiven(maxReplicas)))
    errors.push(invalid(path, subsets, "at least one subset.maxReplicas must be empty"));
  const least = sum(subsets.map(({ minReplicas }) => shareOf(minReplicas, total) ?? 0));
  const most = sum(subsets.map(({ maxReplicas }) => shareOf(maxReplicas, total) ?? UNLIMITED));
  if (least > most) {
    const words =
      "sum of indicated subset.minReplicas should not be greater than sum of indicated subset.maxReplicas";
    errors.push(invalid(path, subsets, words));
  }
  return errors;
}

function validateShares(
  { replicas }: UnitedDeploymentSpec,
  subsets: readonly Subset[],
  specified: readonly Subset[],
): FieldError[] {
  if (typeof replicas !== "number" || specified.length === 0) return [];
  const given = sum(specified.map((subset) => shareOf(subset.replicas, replicas) ?? 0));
  const totals = `${given} should`;
  if (given > replicas) {
    const words = `sum of indicated subset replicas ${totals} not be greater than UnitedDeployment replicas ${replicas}`;
    return [invalid(path, subsets, words)];
  }
  if (specified.length < subsets.length || given === replicas) return [];
  const words = `if replicas of all subsets are provided, the sum of indicated subset replicas ${totals} equal UnitedDeployment replicas ${replicas}`;
  return [invalid(path, subsets, words)];
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((all, each) => all + each, 0);
}
