/** Which file of tests runs which pages of docs/kinds, in this order. */
export const pages = {
  workloads: ["cloneset", "statefulset", "daemonset", "uniteddeployment"],
  jobs: ["broadcastjob", "advancedcronjob", "ephemeraljob", "imagepulljob", "imagelistpulljob", "nodeimage"],
  pods: ["sidecarset", "workloadspread", "podunavailablebudget", "persistentpodstate"],
  nodes: ["containerrecreaterequest", "podprobemarker", "nodepodprobe", "resourcedistribution"],
} as const;

/** Pages whose commands hold when all of them are pasted as one block: nothing there needs to be run a second time. */
export const pastedPages: readonly string[] = ["podunavailablebudget"];
