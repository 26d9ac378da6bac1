package dev.sluice.delta;

import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A catalog of nothing, and in which nothing can be made: what {@link BoundCatalog} has beside the names that are bound. */
final class NoTables implements TableCatalog, FunctionCatalog, SupportsNamespaces {

    private final String name;

    NoTables(String name) {
        this.name = name;
    }

    @Override
    public void initialize(String ownName, CaseInsensitiveStringMap options) {}

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listTables(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public Table loadTable(Identifier table) throws NoSuchTableException {
        throw new NoSuchTableException(table);
    }

    @Override
    public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        throw refused();
    }

    @Override
    public Table createTable(Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties) {
        throw refused();
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) throws NoSuchTableException {
        throw new NoSuchTableException(table);
    }

    @Override
    public boolean dropTable(Identifier table) {
        return false;
    }

    @Override
    public void renameTable(Identifier table, Identifier other) throws NoSuchTableException {
        throw new NoSuchTableException(table);
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier function) throws NoSuchFunctionException {
        throw new NoSuchFunctionException(function);
    }

    @Override
    public String[][] listNamespaces() {
        return new String[0][];
    }

    @Override
    public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
        throw new NoSuchNamespaceException(namespace);
    }

    @Override
    public boolean namespaceExists(String[] namespace) {
        return false;
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
        throw new NoSuchNamespaceException(namespace);
    }

    @Override
    public void createNamespace(String[] namespace, Map<String, String> metadata) {
        throw refused();
    }

    @Override
    public void alterNamespace(String[] namespace, NamespaceChange... changes) throws NoSuchNamespaceException {
        throw new NoSuchNamespaceException(namespace);
    }

    @Override
    public boolean dropNamespace(String[] namespace, boolean cascade) throws NoSuchNamespaceException {
        throw new NoSuchNamespaceException(namespace);
    }

    private UnsupportedOperationException refused() {
        return new UnsupportedOperationException(
                "catalog " + name + " has only the tables that policies bind to a path: nothing can be created in it");
    }
}
