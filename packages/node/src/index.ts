export {
  type HandlerSource,
  type NodeHandler,
  type NodeHandlerOptions,
  nodeHandlerOptions,
  toNodeHandler
} from "./toNodeHandler.ts"
