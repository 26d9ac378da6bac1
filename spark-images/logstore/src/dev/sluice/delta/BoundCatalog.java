package dev.sluice.delta;

import java.net.URI;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Delta's catalog, to which a name that is bound is the table at its location: it does with {@code sales.orders} exactly
 * what it does with {@code delta.`/lake/orders`}, and keeps nothing of it.
 *
 * <p>As Spark's own catalog it leaves all other names to what is there otherwise. As a catalog of another name it has no
 * other tables.
 */
public final class BoundCatalog extends DeltaCatalog {

    private static final String SPARKS_OWN = "spark_catalog";
    private static final String[] OF_PATHS = {"delta"};

    private static final Map<String, String> SAME_STORE =
            Map.of("s3a", "s3", "s3n", "s3", "abfs", "abfss", "wasb", "abfss", "wasbs", "abfss");

    private String ownName;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        super.initialize(name, options);
        ownName = name;
        if (!isSparksOwn()) {
            setDelegateCatalog(new NoTables(name));
        }
    }

    @Override
    public String name() {
        return ownName;
    }

    @Override
    public Table loadTable(Identifier table) {
        return super.loadTable(thereForSure(table));
    }

    @Override
    public Table loadTable(Identifier table, String version) {
        return super.loadTable(thereForSure(table), version);
    }

    @Override
    public Table loadTable(Identifier table, long timestamp) {
        return super.loadTable(thereForSure(table), timestamp);
    }

    @Override
    public Table loadTable(Identifier table, Set<TableWritePrivilege> privileges) throws NoSuchTableException {
        return super.loadTable(thereForSure(table), privileges);
    }

    @Override
    public boolean tableExists(Identifier table) {
        return super.tableExists(there(table));
    }

    @Override
    public void invalidateTable(Identifier table) {
        super.invalidateTable(there(table));
    }

    @Override
    public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        return super.createTable(madeAt(table), schema, partitions, madeThere(table, properties));
    }

    @Override
    public Table createTable(Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties) {
        return super.createTable(madeAt(table), columns, partitions, madeThere(table, properties));
    }

    @Override
    public StagedTable stageCreate(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        return super.stageCreate(madeAt(table), schema, partitions, madeThere(table, properties));
    }

    @Override
    public StagedTable stageReplace(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        return super.stageReplace(madeAt(table), schema, partitions, madeThere(table, properties));
    }

    @Override
    public StagedTable stageCreateOrReplace(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        return super.stageCreateOrReplace(madeAt(table), schema, partitions, madeThere(table, properties));
    }

    @Override
    public StagedTable stageCreate(
            Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties) {
        Map<String, String> there = madeThere(table, properties);
        return staged(() -> super.stageCreate(madeAt(table), columns, partitions, there));
    }

    @Override
    public StagedTable stageReplace(
            Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties) {
        Map<String, String> there = madeThere(table, properties);
        return staged(() -> super.stageReplace(madeAt(table), columns, partitions, there));
    }

    @Override
    public StagedTable stageCreateOrReplace(
            Identifier table, Column[] columns, Transform[] partitions, Map<String, String> properties) {
        Map<String, String> there = madeThere(table, properties);
        return staged(() -> super.stageCreateOrReplace(madeAt(table), columns, partitions, there));
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        return super.alterTable(there(table), changes);
    }

    @Override
    public boolean dropTable(Identifier table) {
        refuseOfBound(table, "DROP TABLE");
        return super.dropTable(table);
    }

    @Override
    public boolean purgeTable(Identifier table) {
        refuseOfBound(table, "DROP TABLE");
        return super.purgeTable(table);
    }

    @Override
    public void renameTable(Identifier table, Identifier other) throws NoSuchTableException {
        refuseOfBound(table, "ALTER TABLE ... RENAME");
        refuseOfBound(other, "ALTER TABLE ... RENAME");
        try {
            super.renameTable(table, other);
        } catch (TableAlreadyExistsException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        }
    }

    @Override
    public boolean namespaceExists(String[] namespace) {
        return BoundNames.hasSchema(ownName, namespace) || super.namespaceExists(namespace);
    }

    @Override
    public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
        try {
            return super.loadNamespaceMetadata(namespace);
        } catch (NoSuchNamespaceException error) {
            if (BoundNames.hasSchema(ownName, namespace)) {
                return Map.of();
            }
            throw error;
        }
    }

    private boolean isSparksOwn() {
        return ownName.equals(SPARKS_OWN);
    }

    /** The table as Delta knows it by its location; a name that is bound to nothing stays as it is. */
    private Identifier there(Identifier table) {
        String location = BoundNames.locationOf(ownName, table);
        return location == null ? table : Identifier.of(OF_PATHS, location);
    }

    /** Delta takes any location for a table until it is read, also one where nothing is yet. */
    private Identifier thereForSure(Identifier table) {
        Identifier found = there(table);
        if (found != table && !super.tableExists(found)) {
            throw BoundCatalog.<RuntimeException>unchecked(new NoSuchTableException(table));
        }
        return found;
    }

    /** Scala's methods declare no exceptions, and throw this one all the same: Spark expects it. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable error) throws E {
        throw (E) error;
    }

    /** Of a Spark whose interface has these methods itself, they declare exceptions; Delta's own declare none. */
    private static StagedTable staged(Callable<StagedTable> stage) {
        try {
            return stage.call();
        } catch (Exception error) {
            throw BoundCatalog.<RuntimeException>unchecked(error);
        }
    }

    private Identifier madeAt(Identifier table) {
        Identifier found = there(table);
        if (found == table && !isSparksOwn() && !Arrays.equals(table.namespace(), OF_PATHS)) {
            throw new IllegalArgumentException(named(table) + " was not created, because no policy says where it is: write a "
                    + "DeltaTablePolicy with its name and its path");
        }
        return found;
    }

    /** A location of the statement's own must be the one that the name is bound to. */
    private Map<String, String> madeThere(Identifier table, Map<String, String> properties) {
        String location = BoundNames.locationOf(ownName, table);
        String given = properties.get(TableCatalog.PROP_LOCATION);
        if (location == null || given == null) {
            return properties;
        }
        if (!isSame(given, location)) {
            throw new IllegalArgumentException(named(table) + " was not created at " + given + ", because a policy binds this "
                    + "name to " + location + ": leave LOCATION out, or correct the policy");
        }
        Map<String, String> rest = new HashMap<>(properties);
        rest.put(TableCatalog.PROP_LOCATION, location);
        return rest;
    }

    private static boolean isSame(String one, String other) {
        return spelledOnce(one).equals(spelledOnce(other));
    }

    /** One bucket has several schemes, and a location without any was judged as a local folder. */
    private static Path spelledOnce(String location) {
        URI there = new Path(location).toUri();
        String scheme = there.getScheme() == null ? "file" : there.getScheme().toLowerCase(Locale.ROOT);
        return new Path(SAME_STORE.getOrDefault(scheme, scheme), there.getAuthority(), there.getPath());
    }

    private void refuseOfBound(Identifier table, String what) {
        if (there(table) != table) {
            throw new UnsupportedOperationException(
                    what + " of " + named(table) + " was not run: a policy, not a catalog, says where this name leads");
        }
    }

    private String named(Identifier table) {
        String schema = String.join(".", table.namespace());
        String name = schema.isEmpty() ? table.name() : schema + "." + table.name();
        return isSparksOwn() ? name : ownName + "." + name;
    }
}
