/**
 * The list of projects. A project needs no explicit creation: the upload of its first source adds it.
 */
import { implementOperations, type Operations, Store, toPage } from "@tollgate/core/module"
import { Context, Effect, Layer } from "effect"
import { byAccount, projects } from "../model/nameRecords.ts"
import { deploymentDirectory } from "../model/partitions.ts"
import { ProjectsApi, type ProjectsMethods } from "./ProjectsApi.ts"

const make = Effect.gen(function* () {
  return Projects.of(
    implementOperations(ProjectsApi, { store: yield* Store })({
      list: Effect.fnUntraced(function* ({ params: { accountName }, query }) {
        const { entries, ...page } = yield* projects.page(deploymentDirectory, {
          where: [byAccount(accountName)],
          ...query
        })
        const data = entries.map(({ value: { projectName, createdOn } }) => ({ name: projectName, createdOn }))
        return toPage(query, page, data)
      })
    })
  )
})

/**
 * The operation on projects, `list`, which takes one `OperationRequest`. A project is listed while it has a deployment.
 */
export class Projects extends Context.Service<Projects, Operations<typeof ProjectsApi, ProjectsMethods>>()(
  "@tollgate/deployments/services/Projects"
) {
  static readonly layer = Layer.effect(Projects, make)
}
