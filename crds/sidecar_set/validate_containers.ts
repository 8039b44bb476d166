/** What admission refuses in the sidecars and volumes of a SidecarSet. Spec: sidecarset 6. */
import {
  compileGoRegexp,
  defaultPodTemplate,
  type FieldError,
  forbidden,
  invalid,
  qualifiedNameErrors,
  required,
  validatePodTemplate,
} from "../../kube/core/index.ts";
import { privilegedErrors } from "../clone_set/template.ts";
import { parseProblem } from "../rules.ts";
import { isNativeSidecar } from "./hash.ts";
import { isHotUpgrade, podContainerNames, type SidecarList } from "./hot_upgrade.ts";
import { evaluateResourceExpression } from "./resource_expressions.ts";
import type { SidecarContainer, SidecarSetSpec } from "./schema.ts";

type ResourcesPolicy = NonNullable<SidecarContainer["resourcesPolicy"]>;
type TransferEnv = NonNullable<SidecarContainer["transferEnv"]>[number];

/** Containers of pods have names of 63 characters at most; those of a sidecar with HotUpgrade end in `-1` and `-2`. */
const longestHotUpgradeName = 61;

/** Indexes in `spec[i]` are those of the container in its own list, as the API has it. */
export function validateSidecars(spec: SidecarSetSpec, options: { allowPrivileged: boolean }): FieldError[] {
  const containers = spec.containers ?? [];
  const initContainers = spec.initContainers ?? [];
  if (containers.length + initContainers.length === 0)
    return [required("spec", "no initContainer or container defined for SidecarSet")];
  return [
    ...initContainers.flatMap((container, index) => [
      ...sourceErrors(container, `spec[${index}]`),
      ...(container.resourcesPolicy ? initResourcesErrors(container, `spec[${index}].resourcesPolicy`) : []),
    ]),
    ...containers.flatMap((container, index) => [
      ...sharingErrors(container),
      ...sourceErrors(container, `spec[${index}]`),
      ...transferEnvErrors(container, `spec[${index}]`),
      ...(container.resourcesPolicy ? resourcesErrors(container, `spec[${index}].resourcesPolicy`) : []),
    ]),
    ...hotUpgradeErrors("containers", spec),
    ...hotUpgradeErrors("initContainers", spec),
    ...validateAsPod(spec, options),
  ];
}

/** Adding or renaming a container would mark every pod as one that the set does not manage. */
export function validateContainerChange(
  containers: readonly SidecarContainer[],
  before: readonly SidecarContainer[],
): FieldError[] {
  const types = new Map(
    before.map(({ name, upgradeStrategy }) => [name, upgradeStrategy?.upgradeType ?? ""]),
  );
  return containers.flatMap(({ name, upgradeStrategy }) => {
    const type = types.get(name);
    if (type === undefined) return [invalid("spec.containers.name", name, `container ${name} is not found`)];
    if (type === "" || type === upgradeStrategy?.upgradeType) return [];
    const words = `container ${name} upgradeType is immutable`;
    return [invalid("spec.containers.upgradeStrategy.upgradeType", name, words)];
  });
}

function sharingErrors({ podInjectPolicy, shareVolumePolicy }: SidecarContainer): FieldError[] {
  const errors: FieldError[] = [];
  if (podInjectPolicy !== "BeforeAppContainer" && podInjectPolicy !== "AfterAppContainer") {
    const path = "spec.container.podInjectPolicy";
    errors.push(invalid(path, podInjectPolicy ?? "", "unsupported pod inject policy"));
  }
  if (shareVolumePolicy?.type !== "enabled" && shareVolumePolicy?.type !== "disabled") {
    const path = "spec.container.shareVolumePolicy";
    errors.push(invalid(path, shareVolumePolicy ?? {}, "unsupported share volume policy"));
  }
  return errors;
}

/** The reference does not survive this one. */
function sourceErrors({ transferEnv }: SidecarContainer, path: string): FieldError[] {
  return (transferEnv ?? []).flatMap(({ sourceContainerNameFrom: source }) =>
    source && !source.fieldRef
      ? [required(`${path}.transferEnv.fieldRef`, "sourceContainerNameFrom needs a fieldRef")]
      : [],
  );
}

function transferEnvErrors({ transferEnv }: SidecarContainer, path: string): FieldError[] {
  return (transferEnv ?? []).flatMap(({ sourceContainerNameFrom }) =>
    sourceContainerNameFrom?.fieldRef
      ? fieldRefErrors(sourceContainerNameFrom.fieldRef, `${path}.transferEnv.fieldRef`)
      : [],
  );
}

type FieldRef = NonNullable<NonNullable<TransferEnv["sourceContainerNameFrom"]>["fieldRef"]>;

/** Only one label or annotation names a container, although the API's documentation has the pod's name, too. */
function fieldRefErrors({ apiVersion, fieldPath }: FieldRef, path: string): FieldError[] {
  if (!apiVersion) return [required(`${path}.apiVersion`)];
  if (!fieldPath) return [required(`${path}.fieldPath`)];
  const refuse = (problem: string) => [
    invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: ${problem}`),
  ];
  if (apiVersion !== "v1") return refuse(`unsupported pod version: ${apiVersion}`);
  const subscript = subscriptOf(fieldPath);
  if (subscript === undefined) return refuse(`field label not supported: ${fieldPath}`);
  if (subscript.map !== "metadata.labels" && subscript.map !== "metadata.annotations")
    return refuse(`field path not supported: ${subscript.map}`);
  const key = subscript.map === "metadata.annotations" ? subscript.key.toLowerCase() : subscript.key;
  return qualifiedNameErrors(key).map((message) => invalid(path, subscript.key, message));
}

/** The parts of `map['key']`. */
function subscriptOf(fieldPath: string): { map: string; key: string } | undefined {
  const at = fieldPath.indexOf("['");
  if (at <= 0 || at + 2 > fieldPath.length - 2 || !fieldPath.endsWith("']")) return undefined;
  return { map: fieldPath.slice(0, at), key: fieldPath.slice(at + 2, -2) };
}

function initResourcesErrors(container: SidecarContainer, path: string): FieldError[] {
  if (isNativeSidecar(container)) return resourcesErrors(container, path);
  return [forbidden(path, "resourcesPolicy is only supported for containers with RestartPolicy Always")];
}

function resourcesErrors({ resources, resourcesPolicy }: SidecarContainer, path: string): FieldError[] {
  if (!resourcesPolicy) return [];
  const amounts = { ...resources?.limits, ...resources?.requests };
  if (Object.keys(amounts).length > 0)
    return [invalid(path, resourcesPolicy, "resourcesPolicy and resources cannot be configured together")];
  return [
    ...regexErrors(resourcesPolicy.targetContainersNameRegex ?? "", `${path}.targetContainersNameRegex`),
    ...expressionsErrors(resourcesPolicy.resourcesExpr ?? {}, `${path}.resourcesExpr`),
  ];
}

function regexErrors(text: string, path: string): FieldError[] {
  if (text === "") return [required(path, "invalid empty regex")];
  const problem = parseProblem(() => compileGoRegexp(text));
  return problem === undefined ? [] : [invalid(path, text, `invalid regex pattern: ${problem}`)];
}

/** Tried with the plain number 1 for what the pod's containers have: there is no pod yet. */
function expressionsErrors(expressions: ResourcesPolicy["resourcesExpr"], path: string): FieldError[] {
  if (!expressions.limits && !expressions.requests)
    return [invalid(path, expressions, "at least one of limits or requests must be configured")];
  return (["limits", "requests"] as const).flatMap((list) =>
    (["cpu", "memory"] as const).flatMap((name) => {
      const text = expressions[list]?.[name] ?? "";
      if (text === "") return [];
      const problem = parseProblem(() => evaluateResourceExpression(text, { name, value: 1 }));
      return problem === undefined
        ? []
        : [invalid(`${path}.${list}.${name}`, text, `invalid expression: ${problem}`)];
    }),
  );
}

/** The reference accepts these, and then no pod can be created. */
function hotUpgradeErrors(list: SidecarList, spec: SidecarSetSpec): FieldError[] {
  const namesIn = (list: SidecarList) =>
    (spec[list] ?? []).map((one) => ({ one, names: podContainerNames(one, list) }));
  const all = [...namesIn("containers"), ...namesIn("initContainers")];
  return (spec[list] ?? []).flatMap((container, index) => {
    if (!isHotUpgrade(container, list)) return [];
    const { name, upgradeStrategy } = container;
    const errors: FieldError[] = [];
    const path = `spec.${list}[${index}]`;
    if (!upgradeStrategy?.hotUpgradeEmptyImage) {
      const words = "HotUpgrade needs the image of the idle container";
      errors.push(required(`${path}.upgradeStrategy.hotUpgradeEmptyImage`, words));
    }
    if (name.length > longestHotUpgradeName) {
      const words = `must be no more than ${longestHotUpgradeName} characters with HotUpgrade, which adds "-1" and "-2"`;
      errors.push(invalid(`${path}.name`, name, words));
    }
    const others = new Set(all.filter(({ one }) => one !== container).flatMap(({ names }) => names));
    for (const made of podContainerNames(container, list)) {
      const words = `HotUpgrade makes a container ${made} of it, and another one has that name`;
      if (others.has(made)) errors.push(invalid(`${path}.name`, name, words));
    }
    return errors;
  });
}

/** As the API server would check them in a pod with nothing else. */
function validateAsPod(
  { containers, initContainers, volumes }: SidecarSetSpec,
  { allowPrivileged }: { allowPrivileged: boolean },
): FieldError[] {
  const taken = new Set(initContainers?.map(({ name }) => name));
  let name = "test";
  while (taken.has(name)) name += "-app";
  const app = { name, image: "busybox" };
  const spec = { containers: containers?.length ? containers : [app], initContainers, volumes };
  const errors = validatePodTemplate(defaultPodTemplate({ spec }, { imagePullPolicy: "ByTag" }), "");
  return allowPrivileged ? errors : [...errors, ...privilegedErrors(spec, "spec")];
}
