/** Cases that hold for every Kubernetes API server; the sandbox must not be distinguishable from a real one by them. */
import { admissionCases } from "./admission_cases.ts";
import { applyCases } from "./apply_cases.ts";
import { authorizationCases } from "./authorization_cases.ts";
import type { ContractCase } from "./case.ts";
import { conditionCases } from "./condition_cases.ts";
import { customCases } from "./custom_cases.ts";
import { deleteCases } from "./delete_cases.ts";
import { listCases } from "./list_cases.ts";
import { networkingCases } from "./networking_cases.ts";
import { patchCases } from "./patch_cases.ts";
import { refusalCases } from "./refusal_cases.ts";
import { tableCases } from "./table_cases.ts";
import { watchCases } from "./watch_cases.ts";

export const contractCases: readonly ContractCase[] = [
  ...refusalCases,
  ...listCases,
  ...watchCases,
  ...patchCases,
  ...applyCases,
  ...deleteCases,
  ...customCases,
  ...tableCases,
  ...admissionCases,
  ...conditionCases,
  ...networkingCases,
  ...authorizationCases,
];
