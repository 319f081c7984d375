/**
 * The managers and invites of a consumer, from those that a request names.
 */
import { Ids } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import type { StoredConsumer } from "../records/Consumer.ts"
import { type Manager, type ManagersCreate, managerTerm } from "../records/Manager.ts"

type Managers = Pick<StoredConsumer, "managers" | "managerInvites">

const hasEmail =
  (email: string | undefined) =>
  (other: { readonly email?: string }): boolean =>
    email !== undefined && other.email !== undefined && managerTerm(other.email) === managerTerm(email)

/**
 * Makes the managers that replace the current ones. Who has the same `sub` or e-mail address keeps `id` and `createdOn`. An
 * address alone invites its owner, unless a manager has it already.
 */
export const makeManagers = Effect.fnUntraced(function* (
  input: ManagersCreate = [],
  now: DateTime.Utc,
  current: Managers = { managers: [], managerInvites: [] }
) {
  const managers: Array<Manager> = []
  const managerInvites: Array<Managers["managerInvites"][number]> = []
  // Of those that name the same user, the first counts.
  const items: Iterable<ManagersCreate[number]> = input
  const byUser = Map.groupBy(items, (item) => (typeof item === "string" ? managerTerm(item) : item.sub))
  const firsts = [...byUser.values()].flatMap((same) => same.slice(0, 1))
  const subs = new Set(firsts.flatMap((item) => (typeof item === "string" ? [] : [item.sub])))
  // An address finds a manager only if no other item has its `sub`, and each manager is kept once.
  const findByEmail = (email: string | undefined) =>
    current.managers.find(
      (manager) => hasEmail(email)(manager) && !subs.has(manager.sub) && !managers.some(({ id }) => id === manager.id)
    )
  for (const item of firsts) {
    if (typeof item === "string") {
      const manager = findByEmail(item)
      const invite = current.managerInvites.find(hasEmail(item))
      if (manager !== undefined) managers.push(manager)
      else managerInvites.push(invite ?? { id: yield* Ids.generate("inv"), createdOn: now, email: item })
    } else {
      const known = current.managers.find(({ sub }) => sub === item.sub) ?? findByEmail(item.email)
      const { id, createdOn } = known ?? { id: yield* Ids.generate("mgr"), createdOn: now }
      managers.push({ id, createdOn, ...item })
    }
  }
  return { managers, managerInvites }
})
