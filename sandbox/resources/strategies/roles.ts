/** Roles and bindings: defaults, and what is refused in them. */
import {
  dnsSubdomainErrors,
  type FieldError,
  invalid,
  jsonEqual,
  notSupported,
  required,
  validateSelector,
} from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { type Fields, fieldsAt, isFields, isSelector, listAt, objectsAt, textAt } from "../../json.ts";
import type { Strategy } from "../resource.ts";
import { pathSegmentErrors } from "./names.ts";

const rbac = "rbac.authorization.k8s.io";

export const roleRules: Readonly<Record<string, Partial<Strategy>>> = {
  [`roles.${rbac}`]: roleStrategy(true),
  [`clusterroles.${rbac}`]: roleStrategy(false),
  [`rolebindings.${rbac}`]: bindingStrategy(true),
  [`clusterrolebindings.${rbac}`]: bindingStrategy(false),
};

function roleStrategy(namespaced: boolean): Partial<Strategy> {
  const errorsOf = (role: StoredObject): FieldError[] => [
    ...objectsAt(role, "rules").flatMap((rule, at) => ruleErrors(rule, namespaced, `rules[${at}]`)),
    ...aggregationErrors(role),
  ];
  return {
    defaults(draft) {
      // Absent rules are sent as null: the type has no way to leave them out.
      draft["rules"] ??= null;
    },
    validateCreate: errorsOf,
    validateUpdate: errorsOf,
  };
}

function ruleErrors(rule: Fields, namespaced: boolean, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (listAt(rule, "verbs").length === 0) {
    errors.push(required(`${path}.verbs`, "verbs must contain at least one value"));
  }
  const isEmpty = (name: string): boolean => listAt(rule, name).length === 0;
  if (!isEmpty("nonResourceURLs")) {
    const refuse = (detail: string): void => {
      errors.push(invalid(`${path}.nonResourceURLs`, rule["nonResourceURLs"], detail));
    };
    if (namespaced) refuse("namespaced rules cannot apply to non-resource URLs");
    if (!isEmpty("apiGroups") || !isEmpty("resources") || !isEmpty("resourceNames")) {
      refuse("rules cannot apply to both regular resources and non-resource URLs");
    }
    return errors;
  }
  if (isEmpty("apiGroups")) {
    errors.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
  }
  if (isEmpty("resources")) {
    errors.push(required(`${path}.resources`, "resource rules must supply at least one resource"));
  }
  return errors;
}

function aggregationErrors(role: StoredObject): FieldError[] {
  if (!isFields(role["aggregationRule"])) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = objectsAt(role["aggregationRule"], "clusterRoleSelectors").filter(isSelector);
  if (selectors.length === 0) {
    return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return selectors.flatMap((selector, at) => validateSelector(selector, `${path}[${at}]`));
}

function bindingStrategy(namespaced: boolean): Partial<Strategy> {
  const errorsOf = (binding: StoredObject): FieldError[] => [
    ...referenceErrors(fieldsAt(binding, "roleRef"), namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"]),
    ...objectsAt(binding, "subjects").flatMap((subject, at) => {
      return subjectErrors(subject, namespaced, `subjects[${at}]`);
    }),
  ];
  return {
    defaults(draft) {
      const reference = draft["roleRef"];
      if (isFields(reference) && textAt(reference, "apiGroup") === "") reference["apiGroup"] = rbac;
      for (const subject of objectsAt(draft, "subjects")) {
        const isAccount = textAt(subject, "kind") === "ServiceAccount";
        if (!isAccount && textAt(subject, "apiGroup") === "") subject["apiGroup"] = rbac;
      }
    },
    validateCreate: errorsOf,
    validateUpdate(object, stored) {
      const errors = errorsOf(object);
      if (!jsonEqual(object["roleRef"], stored["roleRef"])) {
        errors.push(invalid("roleRef", goReference(object["roleRef"]), "cannot change roleRef"));
      }
      return errors;
    },
  };
}

/** In the order and the spelling of the server's own type. */
function goReference(reference: unknown): Fields {
  return {
    APIGroup: textAt(reference, "apiGroup"),
    Kind: textAt(reference, "kind"),
    Name: textAt(reference, "name"),
  };
}

function referenceErrors(reference: Fields, kinds: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  const group = textAt(reference, "apiGroup");
  const kind = textAt(reference, "kind");
  const name = textAt(reference, "name");
  if (group !== rbac) errors.push(notSupported("roleRef.apiGroup", group, [rbac]));
  if (!kinds.includes(kind)) errors.push(notSupported("roleRef.kind", kind, kinds));
  if (name === "") errors.push(required("roleRef.name"));
  errors.push(...pathSegmentErrors(name).map((message) => invalid("roleRef.name", name, message)));
  return errors;
}

function subjectErrors(subject: Fields, namespaced: boolean, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const group = textAt(subject, "apiGroup");
  const kind = textAt(subject, "kind");
  const name = textAt(subject, "name");
  if (name === "") errors.push(required(`${path}.name`));
  switch (kind) {
    case "ServiceAccount":
      if (name !== "") {
        errors.push(...dnsSubdomainErrors(name).map((message) => invalid(`${path}.name`, name, message)));
      }
      if (group !== "") errors.push(notSupported(`${path}.apiGroup`, group, [""]));
      if (!namespaced && textAt(subject, "namespace") === "") errors.push(required(`${path}.namespace`));
      break;
    case "User":
    case "Group":
      if (group !== rbac) errors.push(notSupported(`${path}.apiGroup`, group, [rbac]));
      break;
    default:
      errors.push(notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]));
  }
  return errors;
}
