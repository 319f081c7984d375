import type { EventCatalog } from "@tollgate/core/module"
import { Deployment } from "../model/Deployment.ts"

/** The events of deployments. */
export const deploymentEvents = {
  "deployment.created": { description: "The first source of a branch was uploaded.", data: Deployment },
  "deployment.succeeded": {
    description: "A version was deployed. It is served, unless the deployment is pinned.",
    data: Deployment
  },
  "deployment.failed": { description: "A version could not be deployed.", data: Deployment },
  "deployment.rolled_back": {
    description: "An earlier version is served, and the deployment is pinned.",
    data: Deployment
  },
  "deployment.promoted": {
    description: "A version that was kept is served, and the deployment is not pinned.",
    data: Deployment
  },
  "deployment.deleted": { description: "A deployment was deleted, with all its versions.", data: Deployment }
} satisfies EventCatalog
