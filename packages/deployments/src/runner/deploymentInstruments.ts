import type { Instrument } from "@tollgate/core/module"

const deploymentSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600]

/** The metrics of deployments. */
export const deploymentInstruments = {
  deployments: {
    kind: "counter",
    name: "tollgate.deployments",
    unit: "{deployment}",
    description: "Deployments that this process has finished",
    attributes: ["tollgate.outcome"]
  },
  deploymentDuration: {
    kind: "histogram",
    name: "tollgate.deployments.duration",
    unit: "s",
    description: "Duration of deployments in this process",
    attributes: ["tollgate.outcome"],
    boundaries: deploymentSeconds
  },
  deploymentQueue: {
    kind: "gauge",
    name: "tollgate.deployments.queue",
    unit: "{deployment}",
    description: "Deployments that wait for a free slot in this process",
    attributes: []
  },
  deploymentsRunning: {
    kind: "gauge",
    name: "tollgate.deployments.running",
    unit: "{deployment}",
    description: "Deployments that this process is running",
    attributes: []
  }
} satisfies Readonly<Record<string, Instrument>>
