import type { ClusterAccess } from "../command.ts";
import type { Target } from "../target.ts";
export async function reasonsOf(_access: ClusterAccess, _target: Target, _now: number): Promise<string[]> {
  return [];
}
