/** CPU and memory of a process, from the kernel's own accounts. Linux only. */
import { readFileSync } from "node:fs";

/** Clock ticks a second of /proc/<pid>/stat; fixed by the ABI on every Linux that Node runs on. */
const TICKS = 100;

export interface ProcessSample {
  /** User and system time since its start, seconds. */
  cpuSeconds: number;
  residentMb: number;
}

export function sampleProcess(pid: number): ProcessSample | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command name may hold spaces and parentheses: fields are counted after its end.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const residentKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS, residentMb: residentKb / 1024 };
  } catch {
    return undefined;
  }
}
