/** Which file of tests runs which pages of docs/kinds, in this order. */
export const pages = {
  workloads: ["cloneset", "statefulset", "daemonset", "uniteddeployment"],
  jobs: ["broadcastjob", "advancedcronjob", "ephemeraljob", "imagepulljob", "imagelistpulljob", "nodeimage"],
  pods: ["sidecarset", "workloadspread", "podunavailablebudget", "persistentpodstate"],
  nodes: ["containerrecreaterequest", "podprobemarker", "nodepodprobe", "resourcedistribution"],
} as const;
