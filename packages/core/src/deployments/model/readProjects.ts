import { Effect, Option } from "effect"
import { makeReadDatedPage } from "../../accounts/readDatedPage.ts"
import * as Partition from "../../store/Partition.ts"
import { deployments, projectPartition } from "./deploymentRecords.ts"
import { projects } from "./nameRecords.ts"

/** Reads a page of projects. */
export const readProjects = makeReadDatedPage(projects, Partition.deploymentDirectory, (project) =>
  Effect.map(deployments.page(projectPartition(project), { offset: 0, limit: 1 }), ({ entries: [oldest] }) =>
    Option.map(Option.fromNullishOr(oldest), ({ value }) => value.createdOn)
  )
)
